CREATE TABLE dbo.customers (id int NOT NULL PRIMARY KEY, name nvarchar(100) NOT NULL, city nvarchar(100), country nvarchar(2));
CREATE TABLE dbo.categories (id int NOT NULL PRIMARY KEY, name nvarchar(100) NOT NULL, parent_id int);
CREATE TABLE dbo.products (id int NOT NULL PRIMARY KEY, name nvarchar(100) NOT NULL, category_id int, price decimal(12,2));
CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer_id int NOT NULL, total decimal(12,2), placed datetime2(0));
CREATE TABLE dbo.order_items (order_id int NOT NULL, product_id int NOT NULL, quantity int NOT NULL, price decimal(12,2));
CREATE TABLE dbo.[Order Notes] (id int NOT NULL, [text] nvarchar(200));
CREATE TABLE dbo.salaries (id int NOT NULL, pay int NOT NULL);
CREATE VIEW dbo.order_totals AS SELECT id, total FROM dbo.orders;
INSERT INTO dbo.customers VALUES (1, N'Ada', N'Rome', N'IT'), (2, N'Bob', NULL, N'GB'), (3, N'Eve', N'Oslo', N'NO');
INSERT INTO dbo.categories VALUES (1, N'Books', NULL), (2, N'Novels', 1);
INSERT INTO dbo.products VALUES (1, N'Moby-Dick', 2, '12.90'), (2, N'Tea', NULL, '7.45');
INSERT INTO dbo.orders VALUES
  (1, 1, '12.50', '2024-01-31 00:00:00'), (2, 1, '7.25', '2024-02-29 12:00:00'), (3, 2, '130.00', '2024-02-01 00:00:00');
INSERT INTO dbo.order_items VALUES (1, 1, 1, '12.90'), (2, 2, 3, '7.45');
INSERT INTO dbo.[Order Notes] VALUES (1, N'said "hi"');
INSERT INTO dbo.salaries VALUES (1, 1000000);
