/** What the dashboard's page and the extension say to each other. */

import type { Dashboard } from "../../generated/protocol";

/** A file that the user wants to have. */
export interface ExportedFile {
  readonly name: string;
  readonly type: string;
  /** Text, or base64 of a picture. */
  readonly text: string;
  readonly base64: boolean;
}

/** What the page says to the extension. */
export type FromDashboard =
  { readonly type: "ready" } | { readonly type: "save"; readonly file: ExportedFile };

/** What the extension says to the page. */
export interface ToDashboard {
  readonly type: "figures";
  readonly figures: Dashboard;
}
