//! `openai` for Python and for Node, each script with every version of it.

use mindhost_tests::{Host, ScriptedModel, Turn, build};
use tokio::process::Command;

use super::{ANSWER, check, told};

/// Who runs a script.
#[derive(Clone, Copy, Debug)]
enum Client {
    Python3,
    Python2,
    Node,
}

impl Client {
    const ALL: [Self; 3] = [Self::Python3, Self::Python2, Self::Node];

    fn program(self, script: &str) -> Command {
        let file = build::workspace_dir().join("tests/clients");
        let python = |python| {
            let mut command = Command::new(python);
            command.arg(file.join(format!("openai_python/{script}.py")));
            command
        };
        match self {
            Self::Python3 => python(build::python()),
            Self::Python2 => python(build::python_openai2()),
            Self::Node => {
                build::node_script(&file.join(format!("openai_node/{script}.mjs"))).into()
            }
        }
    }

    /// Each is configured with another base URL of the API.
    fn base_url(self, host: &Host) -> String {
        match self {
            Self::Python3 => host.base_url(),
            Self::Python2 => format!("{}/v1", host.url()),
            Self::Node => format!("{}/v1/", host.url()),
        }
    }

    /// Runs a script on a host of its own.
    async fn run(self, script: &str, turns: Vec<Turn>) -> (Host, ScriptedModel) {
        let host = Host::builder().env("MINDHOST_ANSWERING__BACKGROUND_PER_KEY", "1");
        let (host, model) = told(host.start().await, turns).await;
        self.ask(script, &host, "clerk").await;
        assert_eq!(model.left(), 0, "{self:?}");
        (host, model)
    }

    async fn ask(self, script: &str, host: &Host, mind: &str) {
        let mut program = self.program(script);
        program.args([&self.base_url(host), host.key(), mind, ANSWER]);
        check(program).await;
    }
}

#[tokio::test]
async fn responses() {
    for client in Client::ALL {
        let turns = [ANSWER; 8].map(Turn::text);
        let (_host, model) = client.run("responses", turns.into()).await;
        let asked = &model.asked()[5];
        let system = asked.text_of("system");
        assert!(system.contains("Answer in one sentence."), "{system}");
        assert!(asked.text_of("user").contains("How many items?"));
    }
}

#[tokio::test]
async fn answers_in_the_background() {
    for client in Client::ALL {
        let turns = vec![Turn::text(ANSWER), Turn::text("There ").and_hang()];
        let (_host, model) = client.run("background", turns).await;
        model.wait_for_abandoned(1).await;
    }
}

#[tokio::test]
async fn conversations() {
    for client in Client::ALL {
        client.run("conversations", vec![Turn::text(ANSWER)]).await;
    }
}

#[tokio::test]
async fn chat_completions() {
    for client in Client::ALL {
        let mut turns: Vec<Turn> = [ANSWER; 4].map(Turn::text).into();
        turns.push(Turn::text("There are ").and_cut());
        client.run("chat", turns).await;
    }
}

#[tokio::test]
async fn errors() {
    for client in Client::ALL {
        let refused = Turn::error(500, "the model is busy");
        let turns = vec![Turn::text("There are ").and_cut(), refused];
        client.run("errors", turns).await;
    }
}

#[tokio::test]
async fn queries() {
    for client in Client::ALL {
        let host = Host::start().await;
        let rows = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2), (3);";
        host.sqlite("shop", rows).await.load().await;
        let mind = host.mind("clerk").datasource("shop").direct_queries();
        client
            .ask("queries", &host, &mind.create().await.name)
            .await;
    }
}
