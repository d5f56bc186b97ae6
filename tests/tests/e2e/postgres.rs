//! The fixture itself: a test that leans on a broken fixture says nothing.

use mindhost_tests::Postgres;

#[tokio::test]
async fn each_test_has_a_database_of_its_own() {
    let postgres = Postgres::shared();
    let one = postgres
        .database("CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)")
        .await;
    let two = postgres
        .database("CREATE TABLE item (id int PRIMARY KEY)")
        .await;
    let count = "SELECT count(*) FROM item";
    assert_eq!(
        one.client()
            .await
            .query_one(count, &[])
            .await
            .unwrap()
            .get::<_, i64>(0),
        1
    );
    assert_eq!(
        two.client()
            .await
            .query_one(count, &[])
            .await
            .unwrap()
            .get::<_, i64>(0),
        0
    );
    let owner = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user";
    assert!(
        !one.client()
            .await
            .query_one(owner, &[])
            .await
            .unwrap()
            .get::<_, bool>(0)
    );
}
