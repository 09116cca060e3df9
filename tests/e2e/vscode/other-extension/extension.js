/** Registers `ralph.start` and writes down each time that it is called. */

const { appendFileSync } = require("node:fs");
const vscode = require("vscode");

exports.activate = (context) => {
  const log = process.env.OTHER_RALPH_LOG;
  appendFileSync(log, "active\n");
  context.subscriptions.push(
    vscode.commands.registerCommand("ralph.start", () => {
      appendFileSync(log, "called\n");
    }),
  );
};
