/**
 * Draws the screens of the set-up wizard with VS Code's own lists and fields, and says what a
 * user does with them. It decides nothing.
 *
 * The same screen is changed in place, so that what is typed, ticked and active stays; only Escape
 * closes it, since a user looks things up elsewhere while they answer.
 */

import * as vscode from "vscode";

import type { Event } from "./state";
import type { Button, Line, Row } from "./lists";
import type { Field, Pick, Screen } from "./screens";

/** What the user does. */
export type Did = Event | { readonly kind: "left" } | { readonly kind: "startedOver" };

interface ListItem extends vscode.QuickPickItem {
  readonly id: string;
}

interface ScreenButton extends vscode.QuickInputButton {
  readonly id: string;
}

type Input =
  | { readonly kind: "pick"; readonly key: string; readonly input: vscode.QuickPick<ListItem> }
  | { readonly kind: "field"; readonly key: string; readonly input: vscode.InputBox };

export class Surface implements vscode.Disposable {
  private shown: Input | undefined;
  private readonly listening: vscode.Disposable[] = [];
  /** While rows are set, the editor reports ticks that the user has not made. */
  private isDrawing = false;

  constructor(private readonly emit: (did: Did) => void) {}

  show(screen: Screen): void {
    this.isDrawing = true;
    try {
      if (screen.kind === "pick") {
        this.drawPick(this.pickFor(screen), screen);
      } else {
        this.drawField(this.fieldFor(screen), screen);
      }
    } finally {
      this.isDrawing = false;
    }
  }

  /** Close it without a word. */
  hide(): void {
    const { shown } = this;
    this.shown = undefined;
    for (const disposable of this.listening.splice(0)) {
      disposable.dispose();
    }
    shown?.input.dispose();
  }

  /** Give it the keyboard again, where it is shown. */
  focus(): void {
    this.shown?.input.show();
  }

  dispose(): void {
    this.hide();
  }

  private pickFor(screen: Pick): vscode.QuickPick<ListItem> {
    if (this.shown?.kind === "pick" && this.shown.key === screen.key) {
      return this.shown.input;
    }
    this.hide();
    const input = vscode.window.createQuickPick<ListItem>();
    input.ignoreFocusOut = true;
    input.matchOnDescription = true;
    input.matchOnDetail = true;
    input.canSelectMany = screen.many;
    input.keepScrollPosition = true;
    this.shown = { kind: "pick", key: screen.key, input };
    this.listen(input);
    this.listening.push(
      input.onDidAccept(() => {
        const [row] = input.selectedItems;
        if (screen.many) {
          this.emit({ kind: "confirmed" });
        } else if (row !== undefined) {
          this.emit({ kind: "chose", row: row.id });
        }
      }),
      input.onDidChangeSelection((rows) => {
        if (screen.many && !this.isDrawing && this.shown?.input === input) {
          this.emit({ kind: "ticked", rows: rows.map(({ id }) => id) });
        }
      }),
      input.onDidTriggerItemButton(({ button, item }) => {
        this.emit({ kind: "pressed", button: (button as ScreenButton).id, row: item.id });
      }),
    );
    return input;
  }

  private drawPick(input: vscode.QuickPick<ListItem>, screen: Pick): void {
    this.drawCommon(input, screen);
    // Newer editors have a line for it below the field; in others it is in the field.
    const hasPrompt = "prompt" in input;
    if (hasPrompt) {
      Object.assign(input, { prompt: screen.prompt === "" ? undefined : screen.prompt });
    }
    input.placeholder = hasPrompt || screen.prompt === "" ? screen.placeholder : screen.prompt;
    const isNew = input.items.length === 0;
    const active = isNew ? screen.active : input.activeItems[0]?.id;
    const items = screen.rows.map(toItem);
    if (JSON.stringify(items) !== JSON.stringify(input.items)) {
      input.items = items;
      if (screen.many) {
        const ticked = new Set(
          screen.rows.flatMap((row) =>
            row.kind === "row" && row.isTicked === true ? [row.id] : [],
          ),
        );
        input.selectedItems = items.filter(({ id }) => ticked.has(id));
      }
      const found = items.find(({ id, kind }) => {
        return id === active && kind !== vscode.QuickPickItemKind.Separator;
      });
      if (found !== undefined) {
        input.activeItems = [found];
      }
    }
    input.show();
  }

  private fieldFor(screen: Field): vscode.InputBox {
    if (this.shown?.kind === "field" && this.shown.key === screen.key) {
      return this.shown.input;
    }
    this.hide();
    const input = vscode.window.createInputBox();
    input.ignoreFocusOut = true;
    this.shown = { kind: "field", key: screen.key, input };
    this.listen(input);
    this.listening.push(
      input.onDidChangeValue((text) => {
        this.emit({ kind: "typed", text });
      }),
      input.onDidAccept(() => {
        this.emit({ kind: "confirmed" });
      }),
    );
    return input;
  }

  private drawField(input: vscode.InputBox, screen: Field): void {
    this.drawCommon(input, screen);
    input.placeholder = screen.placeholder;
    input.prompt = screen.prompt;
    if (input.value !== screen.value) {
      input.value = screen.value;
      input.valueSelection = [screen.value.length, screen.value.length];
    }
    const { message } = screen;
    input.validationMessage =
      message === undefined
        ? undefined
        : { message: message.text, severity: SEVERITIES[message.severity] };
    input.show();
  }

  private drawCommon(
    input: vscode.QuickInput & { buttons: readonly vscode.QuickInputButton[] },
    screen: Screen,
  ): void {
    input.title = screen.title;
    input.step = screen.step;
    input.totalSteps = screen.steps;
    input.busy = screen.isBusy;
    input.buttons = [
      ...(screen.canGoBack ? [vscode.QuickInputButtons.Back] : []),
      ...screen.buttons.map(toButton),
    ];
  }

  private listen(input: vscode.QuickPick<ListItem> | vscode.InputBox): void {
    const pressed = (button: vscode.QuickInputButton): void => {
      if (button === vscode.QuickInputButtons.Back) {
        this.emit({ kind: "wentBack" });
        return;
      }
      const { id } = button as ScreenButton;
      this.emit(id === "startOver" ? { kind: "startedOver" } : { kind: "pressed", button: id });
    };
    this.listening.push(
      input.onDidTriggerButton(pressed),
      input.onDidHide(() => {
        if (this.shown?.input === input) {
          this.hide();
          this.emit({ kind: "left" });
        }
      }),
    );
  }
}

function toItem(row: Row | Line): ListItem {
  if (row.kind === "line") {
    return { id: "", label: row.label, kind: vscode.QuickPickItemKind.Separator };
  }
  const { id, label, description, detail, icon, buttons } = row;
  return {
    ...{ id, label: plain(label) },
    ...(description === undefined ? {} : { description: plain(description) }),
    ...(detail === undefined || detail === "" ? {} : { detail: plain(detail) }),
    ...(icon === undefined ? {} : { iconPath: new vscode.ThemeIcon(icon) }),
    ...(buttons === undefined ? {} : { buttons: buttons.map(toButton) }),
  };
}

function toButton({ id, icon, tooltip }: Button): ScreenButton {
  return { id, iconPath: new vscode.ThemeIcon(icon), tooltip };
}

const SEVERITIES = {
  error: vscode.InputBoxValidationSeverity.Error,
  warning: vscode.InputBoxValidationSeverity.Warning,
  information: vscode.InputBoxValidationSeverity.Info,
} as const;

/** A list draws `$(name)` as an icon; what others wrote stays what it is. */
function plain(text: string): string {
  return text.replaceAll("$(", "$\u200b(");
}
