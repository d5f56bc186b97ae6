import { Component, type ComponentChildren } from "preact";
import { toError } from "../lib/api";
import { Failure } from "./failure";

interface Props {
  /** Where the reader is: what failed at one place is shown there alone. */
  at: string;
  children: ComponentChildren;
}

/** Shows a page's own failure in its place, so that the rest goes on. */
export class Boundary extends Component<Props, { thrown: unknown }> {
  override state = { thrown: null as unknown };

  override componentDidCatch(thrown: unknown) {
    this.setState({ thrown });
  }

  override componentDidUpdate({ at }: Props) {
    if (at !== this.props.at && this.state.thrown !== null) this.setState({ thrown: null });
  }

  override render() {
    if (this.state.thrown === null) return this.props.children;
    return (
      <div class="page">
        <h1>This page failed</h1>
        <p>Something in the console went wrong. What you saved or sent before may have reached the server.</p>
        <Failure error={toError(this.state.thrown)} retry={() => this.setState({ thrown: null })} action="Show the page again" />
      </div>
    );
  }
}
