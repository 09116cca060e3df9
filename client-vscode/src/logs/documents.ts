/**
 * The output of an iteration's agent as a read-only document that follows while it is written.
 *
 * Only what the journal's folder holds is ever read, and only new bytes of it. The address names
 * the folder of the window, the run and the start, and never a path.
 */

import { existsSync, watch, type FSWatcher } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import * as vscode from "vscode";

import { t } from "../l10n";
import { folderOf } from "../state/snapshot";
import type { Store } from "../state/store";
import { cutToEnd, linesAdded, Lines, renderLine, wasAtEnd, withoutAnsi } from "./render";

export const LOG_SCHEME = "ralph-log";

/** Characters that a document holds at most; an editor slows down beyond. */
const MOST = 2_000_000;

/** Milliseconds between two looks at what was written. */
const REST = 250;

/** The address of an iteration's log. */
export function logUri(folder: string, run: string, start: number): vscode.Uri {
  const name = `iteration-${String(start).padStart(3, "0")}.log`;
  return vscode.Uri.from({ scheme: LOG_SCHEME, path: `/${run}/${name}`, query: folder });
}

/** What is known of one open document. */
interface Followed {
  readonly messages: Tail;
  readonly lines: Lines;
  /** What the agent said, as far as it was decoded. */
  rendered: string;
  /** Its streams as it wrote them, by their files. */
  readonly streams: Map<string, Stream>;
}

interface Stream {
  readonly tail: Tail;
  readonly decoder: InstanceType<typeof TextDecoder>;
  text: string;
}

export class LogDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly followed = new Map<string, Followed>();
  private readonly resting = new Map<string, NodeJS.Timeout>();
  /** By their runs: the folders of lanes, which are not beside the journal of the folder's run. */
  private readonly lanes = new Map<string, string>();
  /** By their documents: what a lane writes is no message of the folder's run. */
  private readonly watched = new Map<string, FSWatcher>();
  private readonly disposables: { dispose: () => unknown }[] = [this.changed];

  constructor(private readonly store: Store) {
    this.disposables.push(
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.followed.delete(uri.toString());
        this.watched.get(uri.toString())?.close();
        this.watched.delete(uri.toString());
      }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document.uri.scheme === LOG_SCHEME) {
          keepAtEnd(event);
        }
      }),
    );
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const place = this.placeOf(uri);
    if (place === undefined) {
      const why = t("No journal was found for this run. Is its folder open?");
      return `${why}\n`;
    }
    const key = uri.toString();
    const followed = this.followed.get(key) ?? newFollowed(place.folder);
    this.followed.set(key, followed);
    this.watchLane(uri, place.folder);
    const text = cutToEnd(await readOn(followed, place.folder, place.start), MOST);
    const wasPruned = text === "" && existsSync(join(place.folder, "pruned.json"));
    return wasPruned ? `${t("The output of this run was deleted. Its figures are kept.")}\n` : text;
  }

  /** The run of a lane is in this folder. */
  follow(run: string, folder: string): void {
    this.lanes.set(run, folder);
  }

  /** Something was said in this run: look again, if somebody reads along. */
  hear(folder: string): void {
    for (const document of vscode.workspace.textDocuments) {
      const { uri } = document;
      if (uri.scheme === LOG_SCHEME && uri.query === folder) {
        this.lookSoon(uri);
      }
    }
  }

  dispose(): void {
    for (const timer of this.resting.values()) {
      clearTimeout(timer);
    }
    for (const watcher of this.watched.values()) {
      watcher.close();
    }
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  private watchLane(uri: vscode.Uri, folder: string): void {
    const key = uri.toString();
    if (!this.watched.has(key) && [...this.lanes.values()].includes(folder)) {
      const watcher = watch(folder, () => {
        this.lookSoon(uri);
      });
      // The folder moves once the lane is merged, and what is shown stays.
      watcher.on("error", () => {
        watcher.close();
      });
      this.watched.set(key, watcher);
    }
  }

  private lookSoon(uri: vscode.Uri): void {
    const key = uri.toString();
    if (!this.resting.has(key)) {
      const timer = setTimeout(() => {
        this.resting.delete(key);
        this.changed.fire(uri);
      }, REST);
      this.resting.set(key, timer);
    }
  }

  private placeOf(uri: vscode.Uri): { folder: string; start: number } | undefined {
    const journal = folderOf(this.store.snapshot, uri.query)?.state?.journal;
    const named = /^\/([\w-]+)\/iteration-(\d+)\.log$/.exec(uri.path);
    const [, run, start] = named ?? [];
    if (journal === undefined || run === undefined) {
      return undefined;
    }
    const usual = join(dirname(dirname(journal)), run);
    const ofLane = existsSync(usual) ? undefined : this.lanes.get(run);
    return { folder: ofLane ?? usual, start: Number(start) };
  }
}

/** A file that is read on from where it was left. */
class Tail {
  private at = 0;

  constructor(readonly path: string) {}

  /** What came since; nothing where there is no such file. */
  async read(): Promise<Uint8Array> {
    let file;
    try {
      file = await open(this.path, "r");
    } catch {
      return new Uint8Array();
    }
    try {
      const { size } = await file.stat();
      const bytes = new Uint8Array(Math.max(0, size - this.at));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, this.at);
      this.at += bytesRead;
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }
}

function newFollowed(folder: string): Followed {
  const messages = new Tail(join(folder, "messages.jsonl"));
  return { messages, lines: new Lines(), rendered: "", streams: new Map() };
}

/** All that the agent wrote by now: its words, and beneath them what it wrote to its stderr. */
async function readOn(followed: Followed, folder: string, start: number): Promise<string> {
  const lines = followed.lines.feed(await followed.messages.read());
  const text = lines.map((line) => renderLine(line, start)).join("");
  followed.rendered = cutToEnd(followed.rendered + text, MOST);
  const names = await streamsOf(folder, start);
  // What an agent writes may be for machines, so its bytes are shown only where nothing is decoded.
  const wanted = names.filter((name) => name.endsWith(".err") || followed.rendered === "");
  const parts = [followed.rendered];
  for (const name of wanted) {
    const text = await readStream(followed, join(folder, name));
    if (text.trim() !== "") {
      parts.push(name.endsWith(".err") ? `--- ${name} (stderr) ---\n${text}` : text);
    }
  }
  return parts.filter((part) => part !== "").join("\n");
}

/** `iteration-003.out`, `iteration-003-2.err`: a second attempt has its number in the name. */
async function streamsOf(folder: string, start: number): Promise<readonly string[]> {
  const number = String(start).padStart(3, "0");
  const pattern = new RegExp(`^iteration-${number}(-\\d+)?\\.(out|err)$`);
  try {
    const names = (await readdir(folder)).filter((name) => pattern.test(name)).sort();
    return [...names.filter((n) => n.endsWith(".out")), ...names.filter((n) => n.endsWith(".err"))];
  } catch {
    return [];
  }
}

async function readStream({ streams }: Followed, path: string): Promise<string> {
  const known = streams.get(path);
  const stream = known ?? { tail: new Tail(path), decoder: new TextDecoder(), text: "" };
  streams.set(path, stream);
  const more = stream.decoder.decode(await stream.tail.read(), { stream: true });
  stream.text = cutToEnd(stream.text + withoutAnsi(more), MOST);
  return stream.text;
}

/** A reader who had the end in view keeps it there; one who reads further up is left alone. */
function keepAtEnd({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
  const last = document.lineCount - 1;
  const added = linesAdded(contentChanges);
  for (const editor of vscode.window.visibleTextEditors) {
    const visible = editor.visibleRanges.map(({ end }) => end.line);
    if (editor.document === document && wasAtEnd(visible, last, added)) {
      editor.revealRange(new vscode.Range(last, 0, last, 0));
    }
  }
}
