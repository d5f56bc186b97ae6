//! The datasources that were out of reach during an answer. A model that declines after that, or says nothing, does not
//! know their data.

use mindhost_base::error::{Error, Kind};

/// By name, with what was said when they were last asked.
#[derive(Debug, Default)]
pub struct Outages(Vec<(String, Error)>);

impl Outages {
    /// Records that a statement over these datasources failed. Their engines were reached if they refused it.
    pub fn failed(&mut self, datasources: &[&str], error: &Error) {
        match error.kind() {
            Kind::Unavailable => {
                self.reached(datasources);
                let named = datasources.iter().map(|name| (*name).to_owned());
                self.0.extend(named.map(|name| (name, error.clone())));
            }
            Kind::Invalid => self.reached(datasources),
            _ => {}
        }
    }

    /// Records that a statement over these datasources ran.
    pub fn reached(&mut self, datasources: &[&str]) {
        self.0
            .retain(|(name, _)| !datasources.contains(&name.as_str()));
    }

    /// The newest outage that is not over, as far as is known.
    pub fn newest(&self) -> Option<Error> {
        self.0.last().map(|(_, error)| error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Code;

    #[test]
    fn outage_lasts_until_its_datasource_is_reached() {
        let mut outages = Outages::default();
        let unreachable = Error::new(Code::UpstreamUnreachable, "nothing listens there");
        let newest = |outages: &Outages| outages.newest().map(|error| error.code());
        outages.failed(&["shop"], &unreachable);
        outages.reached(&["crm"]);
        assert_eq!(newest(&outages), Some(Code::UpstreamUnreachable));
        outages.failed(&["shop"], &Error::new(Code::Timeout, "too slow"));
        assert_eq!(newest(&outages), Some(Code::UpstreamUnreachable));
        outages.reached(&["shop"]);
        assert_eq!(newest(&outages), None);
    }

    #[test]
    fn refused_statement_is_no_outage_and_ends_one() {
        let mut outages = Outages::default();
        let refused = Error::new(Code::SqlInvalid, "no such column");
        outages.failed(&["shop"], &refused);
        assert!(outages.newest().is_none());
        let unreachable = Error::new(Code::UpstreamUnreachable, "nothing listens there");
        outages.failed(&["shop", "crm"], &unreachable);
        outages.failed(&["shop"], &refused);
        assert!(outages.newest().is_some(), "of crm");
        outages.failed(&["crm"], &refused);
        assert!(outages.newest().is_none());
    }
}
