/* Elements whose text has less contrast with what lies under it than WCAG's AA asks of text of any size. */
(() => {
  const parts = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    const scaled = colour.startsWith("color(") ? found.map((value, at) => (at < 3 ? 255 * value : value)) : found;
    return scaled.length < 4 ? [...scaled, 1] : scaled;
  };
  const light = (colour) => colour.slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const under = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parts(getComputedStyle(each).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  for (const each of document.querySelectorAll("body *")) {
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || each.matches("input, select");
    const box = each.getBoundingClientRect();
    if (!own || !box.width || !box.height || each.closest(".hidden, script, style, option, dialog:not([open])")) continue;
    const [high, low] = [light(parts(getComputedStyle(each).color)), light(under(each))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push(`${each.tagName}.${each.className} ${each.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return found;
})()
