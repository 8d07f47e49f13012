"use strict";
/* The page of glognn report: tables sort by a click on a heading; rows that are headings of others keep the order. */
(() => {
  const { get, make } = Shell;
  Shell.startTheme(get("theme"));
  get("print").addEventListener("click", () => window.print());
  const value = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], rows = [...body.rows];
    if (rows.length < 2 || rows.some((row) => row.classList.contains("group"))) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const words = head.textContent;
      if (!words) return;
      head.textContent = "";
      const button = make("button", words, head);
      button.type = "button";
      button.addEventListener("click", () => {
        const was = head.getAttribute("aria-sort"), first = head.classList.contains("number") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const now = was === first ? other : was === other ? null : first;
        for (const each of heads) each.removeAttribute("aria-sort");
        if (now) head.setAttribute("aria-sort", now);
        const sorted = now ? [...rows].sort((a, b) => {
          const [x, y] = [value(a, at), value(b, at)];
          if (x === "" || y === "") return (x === "") - (y === "");
          return compare(x, y) * (now === "ascending" ? 1 : -1);
        }) : rows;
        body.append(...sorted);
      });
    });
  }
  document.documentElement.dataset.ready = "true";
})();
