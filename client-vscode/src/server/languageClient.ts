/**
 * The protocol's client as a separate bundle: it is most of what the extension reads, and nothing
 * shown before the server runs needs it.
 */

import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type LanguageClientOptions,
  type StreamInfo,
} from "vscode-languageclient/node";

export type Client = LanguageClient;

/** What differs from one client to the next. */
export interface ClientParts extends Required<
  Pick<
    LanguageClientOptions,
    "documentSelector" | "initializationOptions" | "outputChannel" | "diagnosticCollectionName"
  >
> {
  readonly traceOutputChannel: NonNullable<LanguageClientOptions["traceOutputChannel"]>;
  /** The connection is closed; the process may still be there. */
  readonly closed: () => void;
}

/** The client of a server that runs already. */
export function makeClient(streams: StreamInfo, { closed, ...options }: ClientParts): Client {
  return new QuietClient("ralphLoop", "Ralph Loop", () => Promise.resolve(streams), {
    ...options,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    // Whether it is started again is decided by how its process ended.
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        closed();
        const message = "the connection to the server is closed"; // words: not for people
        return { action: CloseAction.DoNotRestart, handled: true, message };
      },
    },
  });
}

/** The library's client without its pop-ups: the Loop view shows what is wrong with the server. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override warn(message: string, data?: unknown): void {
    super.warn(message, data, false);
  }
}
