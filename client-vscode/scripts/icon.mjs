/**
 * Makes media/icon.png, the extension's icon, from media/extension-icon.svg.
 *
 *     node scripts/icon.mjs
 *
 * It needs `rsvg-convert` (Debian: librsvg2-bin), since what packs the extension takes no SVG as
 * its icon. The picture holds a hash of what it was made from, by which a test sees whether it is
 * out of date.
 */

import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";

const media = join(dirname(dirname(fileURLToPath(import.meta.url))), "media");
const source = readFileSync(join(media, "extension-icon.svg"));

/** One part of a PNG: its length, its name, its bytes and their sum. */
function chunk(name, bytes) {
    const named = Buffer.concat([Buffer.from(name, "latin1"), bytes]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
}

const png = execFileSync("rsvg-convert", ["--width", "128", "--height", "128"], { input: source });
const hash = createHash("sha256").update(source).digest("hex");
// The last twelve bytes are the end's own part.
const end = png.length - 12;
const text = chunk("tEXt", Buffer.from(`Source\0${hash}`, "latin1"));
writeFileSync(
    join(media, "icon.png"),
    Buffer.concat([png.subarray(0, end), text, png.subarray(end)]),
);
