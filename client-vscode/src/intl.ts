/**
 * Numbers, times and spans as they are written in the language of the window.
 *
 * Pure, as `l10n.ts` is, and for the same reason: `activate` and the page say which language it is.
 */

let language: string | undefined;

/** From now on, numbers and times are written as in this language, such as `de` or `pt-br`. */
export function useLanguage(tag: string | undefined): void {
  language = tag === undefined || !isLanguage(tag) ? undefined : tag;
}

/** `1,234`, or `1.234`. */
export function count(value: number): string {
  return new Intl.NumberFormat(language).format(value);
}

/** The hour and minute; with the day where it is another one than that of `now`. */
export function clockTime(timestamp: string | number, now: number): string {
  const at = new Date(timestamp);
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const isToday = at.toDateString() === new Date(now).toDateString();
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(language, { ...day, ...time }).format(at);
}

/** How far a moment is from now, in the largest unit that fits: `in 42 min.`, `3 min. ago`. */
export function fromNow(timestamp: string | number, now: number): string {
  const seconds = Math.round((new Date(timestamp).getTime() - now) / 1000);
  const far = Math.abs(seconds);
  const [unit, size] = UNITS.find(([, , least]) => far >= least) ?? (["second", 1] as const);
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  return format.format(Math.round(seconds / size), unit);
}

/** `1 minute 6 seconds`, for screen readers, which read `1:06` as a time of day. */
export function spokenDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [
    ["hour", Math.floor(whole / 3600)],
    ["minute", Math.floor(whole / 60) % 60],
    ["second", whole % 60],
  ] as const;
  const shown = parts.filter(([, value]) => value > 0).slice(0, 2);
  return (shown.length > 0 ? shown : parts.slice(2))
    .map(([unit, value]) =>
      new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(value),
    )
    .join(" ");
}

/** Units with their seconds, each from the span on from which it is the one to use. */
const UNITS = [
  ["day", 86_400, 2 * 86_400],
  ["hour", 3600, 2 * 3600],
  ["minute", 60, 60],
] as const satisfies readonly (readonly [Intl.RelativeTimeFormatUnit, number, number])[];

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
