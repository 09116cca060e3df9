/**
 * The set-up wizard as a separate bundle: most windows never open it, and what is read at every
 * start of an editor stays small. It has its own copy of what it uses, so the translator of words
 * is handed over.
 */

import { useTranslator, type Translator } from "../l10n";
import { SetUpWizard, type Parts } from "./wizard";

export function makeWizard(parts: Parts, translator: Translator): SetUpWizard {
  useTranslator(translator);
  return new SetUpWizard(parts);
}
