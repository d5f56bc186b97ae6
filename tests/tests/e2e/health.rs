//! `/healthz` and `/readyz`: for load balancers, without a key.

use mindhost_tests::Host;
use reqwest::Method;

#[tokio::test]
async fn they_need_no_key() {
    let host = Host::start().await;
    for path in ["/healthz", "/readyz"] {
        host.request(Method::GET, path)
            .without_key()
            .await
            .expect_status(200);
    }
}

#[tokio::test]
async fn a_killed_host_starts_again_on_its_data() {
    let host = Host::start().await;
    host.kill().await;
    assert!(
        host.request(Method::GET, "/healthz")
            .attempt()
            .await
            .is_err()
    );
    host.restart().await;
    host.request(Method::GET, "/readyz")
        .await
        .expect_status(200);
    assert!(host.shut_down().await, "{}", host.log());
}
