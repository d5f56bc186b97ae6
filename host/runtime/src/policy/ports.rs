//! Well-known ports of other protocols.
//!
//! A connector sends text of its configuration to the port in its configuration. A line-based service, such as a mail
//! server or Redis, may run parts of it as commands, and an admin interface may run a request. No database listens on
//! these ports, so they are refused, as in browsers.

/// Well-known ports of protocols that are not SQL databases, sorted, with the protocol.
const USUAL: &[(u16, &str)] = &[
    (7, "echo"),
    (11, "systat"),
    (13, "daytime"),
    (17, "qotd"),
    (19, "chargen"),
    (20, "FTP"),
    (21, "FTP"),
    (22, "SSH"),
    (23, "Telnet"),
    (25, "SMTP"),
    (37, "time"),
    (42, "name"),
    (43, "whois"),
    (53, "DNS"),
    (70, "Gopher"),
    (79, "finger"),
    (88, "Kerberos"),
    (102, "ISO-TSAP"),
    (109, "POP2"),
    (110, "POP3"),
    (111, "rpcbind"),
    (113, "ident"),
    (119, "NNTP"),
    (123, "NTP"),
    (135, "MS-RPC"),
    (139, "NetBIOS"),
    (143, "IMAP"),
    (161, "SNMP"),
    (179, "BGP"),
    (389, "LDAP"),
    (445, "SMB"),
    (465, "SMTP"),
    (502, "Modbus"),
    (512, "rexec"),
    (513, "rlogin"),
    (514, "rsh and syslog"),
    (515, "LPD"),
    (548, "AFP"),
    (554, "RTSP"),
    (563, "NNTP"),
    (587, "SMTP"),
    (601, "syslog"),
    (631, "IPP"),
    (636, "LDAP"),
    (873, "rsync"),
    (989, "FTP"),
    (990, "FTP"),
    (993, "IMAP"),
    (995, "POP3"),
    (1080, "SOCKS"),
    (1099, "Java RMI"),
    (1883, "MQTT"),
    (2003, "Graphite"),
    (2004, "Graphite"),
    (2049, "NFS"),
    (2181, "ZooKeeper"),
    (2375, "the Docker API"),
    (2376, "the Docker API"),
    (2379, "etcd"),
    (2380, "etcd"),
    (2525, "SMTP"),
    (3128, "an HTTP proxy"),
    (3389, "RDP"),
    (3690, "Subversion"),
    (4190, "ManageSieve"),
    (4222, "NATS"),
    (4369, "epmd"),
    (4730, "Gearman"),
    (5060, "SIP"),
    (5061, "SIP"),
    (5222, "XMPP"),
    (5269, "XMPP"),
    (5672, "AMQP"),
    (5900, "VNC"),
    (5985, "WinRM"),
    (5986, "WinRM"),
    (6000, "X11"),
    (6379, "Redis"),
    (6380, "Redis"),
    (6443, "the Kubernetes API"),
    (6566, "SANE"),
    (6667, "IRC"),
    (6697, "IRC"),
    (8086, "InfluxDB"),
    (8125, "StatsD"),
    (8300, "Consul"),
    (8500, "Consul"),
    (8883, "MQTT"),
    (8983, "Solr"),
    (9000, "FastCGI"),
    (9001, "Supervisor"),
    (9091, "a Prometheus gateway"),
    (9092, "Kafka"),
    (9200, "Elasticsearch"),
    (9300, "Elasticsearch"),
    (9418, "Git"),
    (10050, "Zabbix"),
    (10051, "Zabbix"),
    (10250, "the kubelet API"),
    (10255, "the kubelet API"),
    (11211, "memcached"),
    (11300, "beanstalkd"),
    (15672, "RabbitMQ's management"),
    (16379, "Redis"),
    (26379, "Redis Sentinel"),
];

/// The well-known protocol of a port, unless it is a database or a web service.
pub(super) fn usual(port: u16) -> Option<&'static str> {
    let found = USUAL.binary_search_by_key(&port, |(known, _)| *known);
    found.ok().map(|index| USUAL[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_leaves_databases_and_web_services_alone() {
        assert!(USUAL.is_sorted_by(|(a, _), (b, _)| a < b));
        for (port, what) in [(25, "SMTP"), (6379, "Redis"), (11211, "memcached")] {
            assert_eq!(usual(port), Some(what));
        }
        for port in [
            80, 443, 1433, 1521, 3306, 5432, 6432, 8080, 8123, 8443, 11434,
        ] {
            assert_eq!(usual(port), None, "{port}");
        }
    }
}
