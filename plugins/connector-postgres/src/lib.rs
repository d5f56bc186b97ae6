//! The PostgreSQL connector of Mindhost.
