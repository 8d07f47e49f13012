"use strict";
/* What all pages share: elements made of text alone, light and dark. */
const Shell = {
  get(id) { return document.getElementById(id); },
  make(tag, text, parent, name) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (name) made.className = name;
    if (parent) parent.append(made);
    return made;
  },
  get dark() { return document.documentElement.dataset.theme === "dark"; },
  setTheme(dark, button) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (button) button.textContent = dark ? "Light" : "Dark";
  },
  /* As the system has it, until the button is pressed; remembered where the browser allows it. */
  startTheme(button, changed) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    let kept = null;
    try { kept = localStorage.getItem("glognn-theme"); } catch { kept = null; }
    const apply = (dark) => { Shell.setTheme(dark, button); if (changed) changed(); };
    apply(kept ? kept === "dark" : system.matches);
    system.addEventListener("change", (event) => { if (!kept) apply(event.matches); });
    button.addEventListener("click", () => {
      kept = Shell.dark ? "light" : "dark";
      try { localStorage.setItem("glognn-theme", kept); } catch { /* a file that may keep nothing */ }
      apply(kept === "dark");
    });
  },
  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); },
  count(number) { return number.toLocaleString("en-US"); },
  counted(number, thing) { return `${Shell.count(number)} ${thing}${number === 1 ? "" : "s"}`; },
  /* As Python writes it: "+.4f". */
  signed(number, digits) { return (number < 0 || Object.is(number, -0) ? "-" : "+") + Math.abs(number).toFixed(digits); },
  short(number) {
    if (!Number.isFinite(number)) return "missing";
    if (Number.isInteger(number) && Math.abs(number) < 1e6) return String(number);
    const text = number.toPrecision(4);
    return text.includes("e") ? text : String(Number(text));
  },
};
