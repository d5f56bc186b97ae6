import { http } from "./mindhost/index.js";

const PAGES = { columns: [{ name: "n", type: "int64" }, { name: "key", type: "text" }] };

export default class Pages {
  constructor(config) {
    this.config = config;
  }

  check() {
    return { product: "Pages", version: Object.keys(this.config).sort().join(" ") };
  }

  tables() {
    return [{ schema: "main", name: "pages" }];
  }

  describe({ name }) {
    return name === "pages" ? PAGES : null;
  }

  *scan() {
    for (let n = 0; n < this.config.pages; n++) yield http.get(`${this.config.url}/${n}`).json();
  }
}
