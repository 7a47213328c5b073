/**
 * Makes a list or the rows of a table one thing for the keyboard: one tab stop, arrows from one to the next, Enter or space to take
 * one. The list has the role `listbox`, the table `grid`.
 */
export function choices(items: HTMLElement[], role: "option" | "row", take: (at: number) => void): void {
  const focus = (at: number) => {
    if (!items[at]) return;
    for (const item of items) item.tabIndex = item === items[at] ? 0 : -1;
    items[at].focus();
  };
  const choose = (at: number) => {
    for (const item of items) item.ariaSelected = String(item === items[at]);
    take(at);
  };
  const keys: Record<string, (at: number) => void> = {
    Enter: choose,
    " ": choose,
    ArrowDown: (at) => focus(at + 1),
    ArrowUp: (at) => focus(at - 1),
    Home: () => focus(0),
    End: () => focus(items.length - 1),
  };
  items.forEach((item, at) => {
    item.role = role;
    item.tabIndex = at === 0 ? 0 : -1;
    item.ariaSelected = "false";
    item.addEventListener("click", () => choose(at));
    item.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act(at);
    });
  });
}
