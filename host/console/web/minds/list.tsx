import { api, may, take, type Schemas } from "../lib/api";
import { plural } from "../lib/format";
import { useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Badge, Empty, Head, Load } from "../ui/page";
import { Untrusted } from "../ui/text";

export function Minds() {
  const loaded = useLoad((signal) => take(api.GET("/api/v1/minds", { signal })), []);
  return (
    <div class="page">
      <Head title="Minds" about="What is asked: some tables, a language model and instructions under one name.">
        {may("create_mind") && <Link class="button primary" to={href("minds", "new")}>Make a Mind</Link>}
      </Head>
      <Load of={loaded}>
        {(all) => (all.length === 0 ? <Empty title="There is no Mind yet" /> : <div class="cards">{all.map((one) => <Card key={one.name} mind={one} />)}</div>)}
      </Load>
    </div>
  );
}

/** `shop (2 tables), warehouse` */
export function scope(mind: Schemas["Mind"]): string {
  const each = mind.datasource_tables.map(({ name, tables }) => (tables === null ? name : `${name} (${plural(tables.length, "table")})`));
  return each.join(", ");
}

function Card({ mind }: { mind: Schemas["Mind"] }) {
  return (
    <Link class="card" to={href("minds", mind.name)}>
      <h2><Untrusted text={mind.name} /></h2>
      <p><Untrusted text={scope(mind)} /></p>
      <p class="muted"><Untrusted text={mind.provider} /> · <Untrusted text={mind.model_name} /> {mind.parameters.allow_direct_queries && <Badge>takes SQL</Badge>}</p>
    </Link>
  );
}
