import { Component, type ComponentChildren } from "preact";
import { toError } from "../lib/api";
import { Failure } from "./failure";

/** Shows a page's own failure in its place, so that the rest goes on. */
export class Boundary extends Component<{ children: ComponentChildren }, { thrown: unknown }> {
  override state = { thrown: null as unknown };

  override componentDidCatch(thrown: unknown) {
    this.setState({ thrown });
  }

  override render() {
    if (this.state.thrown === null) return this.props.children;
    return <div class="page"><Failure error={toError(this.state.thrown)} /></div>;
  }
}
