/** Numbers, money, times and shares as the dashboard writes them, in the language of the window. */

import { t } from "../../l10n";

let language: string | undefined;

/** From now on, numbers and times are written as in this language. */
export function useDashboardLanguage(tag: string | undefined): void {
  language = tag;
  numbers.clear();
  moments.clear();
}

/** Making a format takes longer than using it. */
const numbers = new Map<string, Intl.NumberFormat>();
const moments = new Map<Moment, Intl.DateTimeFormat>();

function numberFormat(key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const known = numbers.get(key) ?? new Intl.NumberFormat(language, options);
  numbers.set(key, known);
  return known;
}

/** In place of a value that no agent reported. */
export const UNKNOWN = "–";

/** `1,234`. */
export function count(value: number): string {
  return numberFormat("count", {}).format(value);
}

/** `3.2M`. */
export function compact(value: number): string {
  return numberFormat("compact", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** `$12.40`, `≈$0.0042`; as many digits as a small amount needs. */
export function dollars(value: number, estimated = false): string {
  const digits = value !== 0 && Math.abs(value) < 0.1 ? 4 : 2;
  const format = numberFormat(`usd${digits}`, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
  return `${estimated ? "≈" : ""}${format.format(value)}`;
}

/** `78 %`, from a share of 0 to 1. */
export function percent(share: number): string {
  return numberFormat("percent", { style: "percent" }).format(share);
}

/** `0.12`. */
export function rate(value: number): string {
  return numberFormat("rate", { maximumFractionDigits: 2 }).format(value);
}

/** `45s`, `2m 40s`, `5h 12m`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) {
    return t("{0}s", whole);
  }
  if (whole < 3600) {
    const rest = whole % 60 === 0 ? "" : ` ${t("{0}s", whole % 60)}`;
    return `${t("{0}m", Math.floor(whole / 60))}${rest}`;
  }
  const minutes = Math.round(whole / 60);
  const rest = minutes % 60 === 0 ? "" : ` ${t("{0}m", minutes % 60)}`;
  return `${t("{0}h", count(Math.floor(minutes / 60)))}${rest}`;
}

export type Moment = "day" | "date" | "time" | "clock";

const MOMENTS: Readonly<Record<Moment, Intl.DateTimeFormatOptions>> = {
  day: { day: "numeric", month: "short" },
  date: { weekday: "short", day: "numeric", month: "short", year: "numeric" },
  clock: { hour: "2-digit", minute: "2-digit" },
  time: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
};

/** A moment in the reader's time zone. */
export function moment(timestamp: number, form: Moment): string {
  const known = moments.get(form) ?? new Intl.DateTimeFormat(language, MOMENTS[form]);
  moments.set(form, known);
  return known.format(timestamp);
}
