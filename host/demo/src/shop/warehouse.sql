-- The warehouse keeps its own books, in a database of its own. `sku` is what it shares with the shop.

CREATE TABLE warehouses ( -- Buildings where goods are kept
    code TEXT PRIMARY KEY, -- Three letters
    city TEXT NOT NULL, -- Where it stands
    capacity INTEGER NOT NULL, -- Pieces that fit in
    opened_on DATE NOT NULL -- First day of work
) WITHOUT ROWID;

CREATE TABLE suppliers ( -- Companies that goods are bought from
    id INTEGER PRIMARY KEY, -- Number of the supplier
    name TEXT NOT NULL, -- Name of the company
    country TEXT NOT NULL, -- Country of its seat, in English
    lead_days INTEGER, -- Usual days from order to arrival, if agreed
    contact TEXT -- E-mail address
);

CREATE TABLE inventory ( -- Pieces in each building
    warehouse_code TEXT NOT NULL REFERENCES warehouses (code), -- The building
    sku TEXT NOT NULL, -- Stock keeping unit of the product
    supplier_id INTEGER NOT NULL REFERENCES suppliers (id), -- Who delivers it
    on_hand INTEGER NOT NULL, -- Pieces that are there
    reorder_level INTEGER NOT NULL, -- Fewer than this: buy more
    unit_cost DECIMAL(10,2) NOT NULL, -- What the last piece cost, in euros
    counted_on DATE, -- Last stock-taking, if any
    PRIMARY KEY (warehouse_code, sku)
) WITHOUT ROWID;

CREATE TABLE movements ( -- Goods in and out
    id INTEGER PRIMARY KEY, -- Number of the movement
    warehouse_code TEXT NOT NULL, -- The building
    sku TEXT NOT NULL, -- Stock keeping unit of the product
    kind TEXT NOT NULL, -- delivery, sale, return or correction
    quantity INTEGER NOT NULL, -- Pieces; negative when they leave
    moved_at TIMESTAMP NOT NULL, -- When, in UTC
    CONSTRAINT movement_of_inventory FOREIGN KEY (warehouse_code, sku) REFERENCES inventory (warehouse_code, sku)
);

CREATE VIEW low_stock AS -- Products below their reorder level
SELECT warehouse_code, sku, on_hand, reorder_level
FROM inventory
WHERE on_hand < reorder_level;
