import { render } from "preact";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/parts.css";
import "./styles/ask.css";
import "./styles/data.css";
import "./styles/pages.css";
import "./styles/plots.css";
import { App } from "./app";
import { resume } from "./lib/sign_in";

await resume();
render(<App />, document.getElementById("app")!);
