"use strict";
// Add a button after each command: a click copies the text.
(() => {
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page from a file may have no clipboard: copy a selection instead.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  const add = (after, text) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(text, button));
    after.after(button);
  };
  for (const lines of document.querySelectorAll("pre.lines")) {
    add(lines, lines.textContent.trimEnd());
  }
  // A step without a command is copied whole, for a ticket.
  for (const step of document.querySelectorAll("#next li")) {
    const commands = step.querySelectorAll("code");
    for (const command of commands) add(command, command.textContent);
    if (commands.length === 0) add(step.lastChild, step.textContent.trim());
  }
})();
