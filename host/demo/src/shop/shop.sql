-- The shop: customers, what they order, and what becomes of it. Comments behind a table or a column describe it.

CREATE TABLE customers ( -- People who have registered in the shop
    id INTEGER PRIMARY KEY, -- Number of the customer
    name TEXT NOT NULL, -- Full name, as the customer writes it
    email TEXT NOT NULL UNIQUE, -- Address for order confirmations
    phone TEXT, -- International number; many customers give none
    country TEXT NOT NULL, -- Country of residence, in English
    segment TEXT NOT NULL DEFAULT 'private', -- private, business or education
    birth_date DATE, -- Given by few customers
    newsletter BOOLEAN NOT NULL DEFAULT 0, -- Whether the customer wants the newsletter
    registered_at TIMESTAMP NOT NULL -- When the account was made, in UTC
);

CREATE TABLE addresses ( -- Delivery and billing addresses of customers
    id INTEGER PRIMARY KEY, -- Number of the address
    customer_id INTEGER NOT NULL REFERENCES customers (id), -- Whose address it is
    kind TEXT NOT NULL, -- delivery or billing
    street TEXT NOT NULL, -- Street and house number
    city TEXT NOT NULL, -- City
    postal_code TEXT, -- Not every country has one
    country TEXT NOT NULL -- Country, in English
);

CREATE TABLE categories ( -- The tree of product categories
    id INTEGER PRIMARY KEY, -- Number of the category
    parent_id INTEGER REFERENCES categories (id), -- The category above, none at the top
    name TEXT NOT NULL UNIQUE -- Name shown in the shop
);

CREATE TABLE products ( -- What the shop sells
    id INTEGER PRIMARY KEY, -- Number of the product
    category_id INTEGER NOT NULL REFERENCES categories (id), -- Where it is found in the shop
    sku TEXT NOT NULL UNIQUE, -- Stock keeping unit, also used by the warehouse
    name TEXT NOT NULL, -- Name shown in the shop
    price DECIMAL(10,2) NOT NULL, -- Current price of one piece in euros, without shipping
    weight_kg REAL, -- Weight of one piece in kilograms, where it was measured
    thumbnail BLOB, -- A small bitmap, where a photo was taken
    introduced_on DATE NOT NULL, -- First day of sale
    discontinued BOOLEAN NOT NULL DEFAULT 0 -- Whether it is no longer sold
);

CREATE TABLE orders ( -- Orders of customers
    id INTEGER PRIMARY KEY, -- Number of the order
    customer_id INTEGER NOT NULL REFERENCES customers (id), -- Who ordered
    delivery_address_id INTEGER REFERENCES addresses (id), -- Where it goes; none for pick-up
    status TEXT NOT NULL, -- pending, paid, shipped, delivered, returned or cancelled
    channel TEXT NOT NULL, -- web, app or phone
    voucher TEXT, -- Code of a voucher, if one was used
    shipping_fee DECIMAL(6,2) NOT NULL, -- Price of shipping in euros
    total DECIMAL(10,2) NOT NULL, -- Revenue: sum of the order's lines and the shipping fee, in euros
    ordered_at TIMESTAMP NOT NULL -- When it was placed, in UTC
);

CREATE TABLE order_items ( -- The lines of orders
    order_id INTEGER NOT NULL REFERENCES orders (id), -- The order
    line_no INTEGER NOT NULL, -- Line within the order, from 1
    product_id INTEGER NOT NULL REFERENCES products (id), -- What was ordered
    quantity INTEGER NOT NULL, -- Pieces
    unit_price DECIMAL(10,2) NOT NULL, -- Price of one piece on that day, in euros
    discount DECIMAL(10,2) NOT NULL DEFAULT 0, -- Taken off the line, in euros
    PRIMARY KEY (order_id, line_no)
) WITHOUT ROWID;

CREATE TABLE payments ( -- Money received for orders
    id INTEGER PRIMARY KEY, -- Number of the payment
    order_id INTEGER NOT NULL REFERENCES orders (id), -- The order that was paid
    method TEXT NOT NULL, -- card, transfer, wallet or invoice
    amount DECIMAL(10,2) NOT NULL, -- Euros received
    paid_at TIMESTAMP NOT NULL -- When it arrived, in UTC
);

CREATE TABLE shipments ( -- Parcels on their way
    id INTEGER PRIMARY KEY, -- Number of the parcel
    order_id INTEGER NOT NULL REFERENCES orders (id), -- The order that it carries
    carrier TEXT NOT NULL, -- Who carries it
    tracking_code TEXT, -- Missing for letters
    shipped_on DATE NOT NULL, -- Day of dispatch
    delivered_on DATE -- Day of delivery, once known
);

CREATE TABLE returns ( -- Order lines that came back
    order_id INTEGER NOT NULL, -- The order
    line_no INTEGER NOT NULL, -- The line of the order
    quantity INTEGER NOT NULL, -- Pieces that came back
    reason TEXT, -- In the customer's words, if any
    returned_on DATE NOT NULL, -- Day of arrival
    PRIMARY KEY (order_id, line_no),
    CONSTRAINT returned_line FOREIGN KEY (order_id, line_no) REFERENCES order_items (order_id, line_no)
);

CREATE TABLE reviews ( -- What customers say about products
    id INTEGER PRIMARY KEY, -- Number of the review
    product_id INTEGER NOT NULL REFERENCES products (id), -- The product
    customer_id INTEGER NOT NULL REFERENCES customers (id), -- Who wrote it
    rating INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5), -- Stars, 1 to 5
    comment TEXT, -- Free text in any language; many give stars only
    helpful_votes INTEGER NOT NULL DEFAULT 0, -- Others who found it helpful
    written_at TIMESTAMP NOT NULL -- When it was written, in UTC
);

CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_day ON orders (ordered_at);
CREATE INDEX items_by_product ON order_items (product_id);
CREATE INDEX reviews_by_product ON reviews (product_id);

CREATE VIEW monthly_revenue AS -- Orders and revenue by month, without cancelled orders
SELECT strftime('%Y-%m', ordered_at) AS month, count(*) AS orders, sum(total) AS revenue
FROM orders
WHERE status <> 'cancelled'
GROUP BY 1;

CREATE VIEW product_ratings AS -- Average stars of each reviewed product
SELECT products.id AS product_id, products.name AS product, count(*) AS reviews, avg(rating) AS average_rating
FROM products JOIN reviews ON reviews.product_id = products.id
GROUP BY products.id, products.name;
