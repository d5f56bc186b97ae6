// What no text of others may become in the page.
import assert from "node:assert/strict";

/** Fails if a text became markup, a link or a script, or has what cannot be seen. Boxes and lines of a diagram are the console's own. */
export async function checkDom(page, where) {
  const found = await page.evaluate(() => {
    const bad = "script:not([src^='/console/']), img, iframe, object, embed, video, audio, base, meta[http-equiv], link:not([href^='/console/']), form[action], marquee, math, b b, style, svg script, [onerror], [onload], [onclick], [onfocus]";
    const links = [...document.querySelectorAll("a")].map((link) => link.getAttribute("href")).filter((href) => !/^(\/console(\/|$)|\/docs$|#main$)/.test(href));
    // Editors are in shadow roots, which no selector of the document reaches.
    const roots = [document];
    for (const root of roots) for (const one of root.querySelectorAll("*")) if (one.shadowRoot) roots.push(one.shadowRoot);
    // What cannot be seen, or turns the text around it. Joiners belong to many scripts.
    const unseen = /[\u0000-\u0008\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\u034F\u115F\u1160\u17B4\u17B5\u2800\u3164\uFEFF\uFFA0\u{E0000}-\u{E007F}]/u;
    const isOwn = (one) => one.closest(".cm-widgetBuffer, textarea, script") !== null;
    const texts = roots.flatMap((root) => [...root.querySelectorAll("*")].filter((one) => !isOwn(one)).flatMap((one) => [
      ...[...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data),
      ...["title", "aria-label", "placeholder", "alt"].map((name) => one.getAttribute(name) ?? ""),
    ])).concat(document.title).filter((text) => unseen.test(text)).map((text) => `cannot be seen: ${JSON.stringify(text.slice(0, 200))}`);
    // CodeMirror marks the end of a line that has no text with an image of its own, without an address.
    const marked = roots.flatMap((root) => [...root.querySelectorAll(bad)]).filter((one) => !one.matches("img.cm-widgetBuffer:not([src])"));
    return marked.map((one) => one.outerHTML.slice(0, 200)).concat(links, texts);
  });
  assert.deepEqual(found, [], where);
}
