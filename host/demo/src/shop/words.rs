//! The vocabulary of the shop.

/// Country, telephone prefix, cities and weight. Names of people below are by the same index.
pub(super) const COUNTRIES: &[(&str, &str, &[&str], u64)] = &[
    (
        "Germany",
        "+49",
        &["Berlin", "Köln", "München", "Leipzig"],
        26,
    ),
    ("France", "+33", &["Paris", "Orléans", "Nîmes", "Lyon"], 18),
    (
        "Spain",
        "+34",
        &["Madrid", "A Coruña", "Málaga", "Sevilla"],
        12,
    ),
    (
        "Poland",
        "+48",
        &["Łódź", "Kraków", "Gdańsk", "Wrocław"],
        11,
    ),
    (
        "Czechia",
        "+420",
        &["Praha", "Brno", "Plzeň", "České Budějovice"],
        7,
    ),
    ("Sweden", "+46", &["Göteborg", "Malmö", "Umeå", "Örebro"], 6),
    ("Greece", "+30", &["Αθήνα", "Θεσσαλονίκη", "Πάτρα"], 5),
    ("Ireland", "+353", &["Dublin", "Dún Laoghaire", "Galway"], 5),
    ("Türkiye", "+90", &["İstanbul", "Eskişehir", "İzmir"], 4),
    ("Japan", "+81", &["東京", "大阪", "札幌"], 6),
];

/// Given names by country.
pub(super) const GIVEN: &[&[&str]] = &[
    &[
        "Jürgen", "Anke", "Sören", "Käthe", "Lukas", "Mia", "Björn", "Frieda", "Emil", "Heike",
    ],
    &[
        "Zoé",
        "François",
        "Hélène",
        "Loïc",
        "Chloé",
        "Jérôme",
        "Margaux",
        "Théo",
        "Anaïs",
        "Benoît",
    ],
    &[
        "Íñigo", "Begoña", "José", "Lucía", "Andrés", "Inés", "Sofía", "Raúl", "Marta", "Óscar",
    ],
    &[
        "Łukasz",
        "Małgorzata",
        "Wojciech",
        "Żaneta",
        "Piotr",
        "Agnieszka",
        "Jędrzej",
        "Ewa",
        "Zofia",
        "Marek",
    ],
    &[
        "Jiří",
        "Kateřina",
        "Ondřej",
        "Zdeňka",
        "Tomáš",
        "Šárka",
        "Vojtěch",
        "Eliška",
        "Matěj",
        "Jana",
    ],
    &[
        "Åsa", "Göran", "Märta", "Björn", "Elin", "Håkan", "Sigrid", "Östen", "Maja", "Nils",
    ],
    &[
        "Γιώργος",
        "Ελένη",
        "Νίκος",
        "Μαρία",
        "Κώστας",
        "Σοφία",
        "Δημήτρης",
        "Άννα",
    ],
    &[
        "Siobhán", "Pádraig", "Aoife", "Seán", "Niamh", "Ciarán", "Róisín", "Eoin",
    ],
    &[
        "Işıl", "Çağla", "Ömer", "Ayşe", "Şule", "Gökhan", "Ünal", "Elif",
    ],
    &[
        "陽菜",
        "蓮",
        "さくら",
        "大翔",
        "美咲",
        "悠真",
        "結衣",
        "健太",
    ],
];

/// Family names by country.
pub(super) const FAMILY: &[&[&str]] = &[
    &[
        "Müller",
        "Schröder",
        "Weiß",
        "Krüger",
        "Groß",
        "Lange",
        "Böhm",
        "Vogt",
        "Jäger",
        "Busch",
    ],
    &[
        "Lefèvre",
        "Garçon",
        "Noël",
        "D'Arcy",
        "Moreau",
        "Béranger",
        "Petit",
        "Rousseau",
        "Brûlé",
    ],
    &[
        "Núñez", "Peña", "Ibáñez", "García", "Muñoz", "Vázquez", "Ortega", "Ruiz",
    ],
    &[
        "Wójcik",
        "Kowalski",
        "Dąbrowska",
        "Zieliński",
        "Woźniak",
        "Król",
        "Pawłowska",
        "Górski",
    ],
    &[
        "Novák",
        "Dvořák",
        "Černý",
        "Procházka",
        "Kučera",
        "Veselý",
        "Růžička",
        "Šimek",
    ],
    &[
        "Åkesson",
        "Öberg",
        "Sjöström",
        "Lindqvist",
        "Bäckström",
        "Holm",
        "Nyström",
    ],
    &[
        "Παπαδόπουλος",
        "Γεωργίου",
        "Δημητρίου",
        "Νικολάου",
        "Βλάχου",
    ],
    &[
        "Ó Briain",
        "O'Neill",
        "Ní Dhomhnaill",
        "Byrne",
        "Kelly",
        "Doyle",
    ],
    &["Yılmaz", "Öztürk", "Çelik", "Şahin", "Güneş", "Koç"],
    &["佐藤", "鈴木", "高橋", "田中", "渡辺", "小林"],
];

pub(super) const STREETS: &[&str] = &[
    "Rosengasse",
    "Rue de l'Étoile",
    "Calle Mayor",
    "ulica Długa",
    "Nádražní",
    "Storgatan",
    "Main Street",
    "Lindenallee",
    "Place d'Armes",
    "Avenida del Río",
    "Słoneczna",
    "Na Příkopě",
];

/// A category and what is sold there.
type Category = (&'static str, &'static [&'static str]);

/// A top category and the categories below it.
pub(super) const CATEGORIES: &[(&str, &[Category])] = &[
    (
        "Kitchen",
        &[
            (
                "Coffee & Tea",
                &[
                    "Espresso cups",
                    "Moka pot",
                    "Tea kettle",
                    "Coffee grinder",
                    "Matcha whisk",
                ],
            ),
            (
                "Cookware",
                &[
                    "Frying pan",
                    "Stock pot",
                    "Wok",
                    "Crêpe pan",
                    "Roasting tin",
                ],
            ),
            (
                "Knives",
                &[
                    "Chef's knife",
                    "Bread knife",
                    "Paring knife",
                    "Santoku 三徳",
                    "Sharpening stone",
                ],
            ),
        ],
    ),
    (
        "Home",
        &[
            (
                "Lighting",
                &["Desk lamp", "Floor lamp", "String lights", "Night light"],
            ),
            (
                "Textiles",
                &["Linen towel", "Wool blanket", "Cushion", "Bed linen"],
            ),
            (
                "Furniture",
                &["Stool", "Side table", "Bookshelf", "Coat rack"],
            ),
        ],
    ),
    (
        "Outdoors",
        &[
            (
                "Camping",
                &[
                    "Tent",
                    "Sleeping bag",
                    "Camping stove",
                    "Headlamp",
                    "Hammock",
                ],
            ),
            ("Cycling", &["Helmet", "Bike lock", "Pannier", "Floor pump"]),
            (
                "Garden",
                &[
                    "Watering can",
                    "Pruning shears",
                    "Hand trowel",
                    "Bird feeder",
                ],
            ),
        ],
    ),
    (
        "Play",
        &[
            (
                "Board games",
                &["Chess set", "Go board 囲碁", "Domino", "Card game"],
            ),
            ("Music", &["Ukulele", "Kalimba", "Harmonica", "Cajón"]),
            (
                "Art supplies",
                &["Watercolours", "Sketch book", "Brush set", "Easel"],
            ),
        ],
    ),
];

pub(super) const MATERIALS: &[&str] = &[
    "oak", "steel", "copper", "linen", "ceramic", "cork", "glass", "bamboo", "brass", "walnut",
    "enamel",
];

pub(super) const SERIES: &[&str] = &[
    "Nordlys", "Piccolo", "Übermut", "Čilý", "Ola", "Señor", "Kōhī", "Fjord", "Mañana", "Señal",
    "Zen", "Łada",
];

/// By stars, 1 to 5.
pub(super) const COMMENTS: &[&[&str]] = &[
    &[
        "Broke on the first day.",
        "Leider unbrauchbar 😞",
        "Je suis très déçu.",
        "届いたときに壊れていました。",
    ],
    &[
        "Not what the picture shows.",
        "Słaba jakość za tę cenę.",
        "Riecht seltsam.",
        "Trop petit.",
    ],
    &[
        "It does its job.",
        "Geht so.",
        "Normal, nada especial.",
        "Κάνει τη δουλειά του.",
    ],
    &[
        "Good value!",
        "Sehr zufrieden.",
        "Très bien, merci.",
        "Moc pěkné, děkuji 🙂",
        "Bra kvalitet.",
    ],
    &[
        "Best purchase this year ⭐",
        "Wunderschön verarbeitet!",
        "¡Me encanta!",
        "最高です！",
        "Absolutnie polecam ❤️",
        "My cat loves it. 🐈 It was not meant for cats.",
    ],
];

pub(super) const REASONS: &[&str] = &[
    "damaged",
    "wrong size",
    "changed my mind",
    "arrived too late",
    "nicht wie beschrieben",
    "double order",
];

pub(super) const CARRIERS: &[(&str, u64)] = &[
    ("DHL", 40),
    ("DPD", 25),
    ("PostNord", 12),
    ("Chronopost", 13),
    ("ヤマト運輸", 6),
    ("Bike courier", 4),
];

pub(super) const SUPPLIERS: &[&str] = &[
    "Werkstatt",
    "Atelier",
    "Taller",
    "Fabryka",
    "Dílna",
    "Verkstad",
    "Εργαστήρι",
    "Workshop",
    "Atölye",
    "工房",
];
