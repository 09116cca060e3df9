/**
 * Text for users, in the language of the window.
 *
 * Pure: the callers know no window, and tests have none. `activate` passes in the window's
 * translator; until then, and in tests, words stay as they are written here.
 */

/** Puts `args` in the place of `{0}`, `{1}`, … of a message, translated where a bundle has it. */
export type Translator = (message: string, ...args: readonly (string | number)[]) => string;

let translator: Translator = fill;

/** From now on, words come from this translator. */
export function useTranslator(other: Translator): void {
  translator = other;
}

/** The message in the language of the window, its placeholders filled. */
export function t(message: string, ...args: readonly (string | number)[]): string {
  return translator(message, ...args);
}

/** What the words are where nothing translates them. */
export function fill(message: string, ...args: readonly (string | number)[]): string {
  return message.replace(/\{(\d+)\}/g, (whole, index: string) => {
    const found = args[Number(index)];
    return found === undefined ? whole : String(found);
  });
}

/** A translator from a bundle's words; what is not in it stays as it is written. */
export function translatorOf(bundle: Readonly<Record<string, string>>): Translator {
  return (message, ...args) =>
    fill(Object.hasOwn(bundle, message) ? (bundle[message] ?? message) : message, ...args);
}
