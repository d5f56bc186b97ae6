import { api, may, take } from "../lib/api";
import { useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Empty, Head, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { datasourceAddress } from "./addresses";
import { SearchBox } from "./search";

export function Datasources() {
  const loaded = useLoad((signal) => take(api.GET("/api/v1/datasources", { signal })), []);
  return (
    <div class="page">
      <Head title="Data" about="Databases that are connected, and what is known of their tables.">
        <SearchBox />
        {may("create_datasource") && <Link class="button primary" to={href("data", "new")}>Connect a database</Link>}
      </Head>
      <Load of={loaded}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="Nothing is connected yet"><p>Connect a database, and its tables are read in the background.</p></Empty>
          ) : (
            <div class="cards">
              {all.map((one) => (
                <Link key={one.id} class="card" to={datasourceAddress(one.name)}>
                  <h2><Untrusted text={one.name} /></h2>
                  <p><Untrusted text={one.description || "No description."} /></p>
                  <p class="muted"><Untrusted text={one.engine} /></p>
                </Link>
              ))}
            </div>
          )
        }
      </Load>
    </div>
  );
}
