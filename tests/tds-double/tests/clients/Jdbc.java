import java.sql.*;
import java.util.*;

/** Logs into a double by the official driver, queries, pages and cancels. Prints one line for each thing that it saw. */
public class Jdbc {
    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            DatabaseMetaData server = connection.getMetaData();
            System.out.println("server " + server.getDatabaseProductName());
            query(connection, "SELECT id, name, price FROM dbo.item ORDER BY id");
            query(connection, "SELECT id FROM dbo.item ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY");
            types(connection);
            prepared(connection);
            error(connection);
            cancel(connection);
            query(connection, "SELECT 7 AS seven");
        }
    }

    static void query(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            ResultSetMetaData columns = rows.getMetaData();
            while (rows.next()) {
                List<String> row = new ArrayList<>();
                for (int column = 1; column <= columns.getColumnCount(); column++) {
                    row.add(columns.getColumnName(column) + "=" + rows.getString(column));
                }
                System.out.println("row " + String.join(",", row));
            }
        }
    }

    static void types(Connection connection) throws SQLException {
        String sql = "SELECT * FROM dbo.types";
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            ResultSetMetaData columns = rows.getMetaData();
            while (rows.next()) {
                for (int column = 1; column <= columns.getColumnCount(); column++) {
                    String value = rows.getString(column);
                    System.out.println("type " + columns.getColumnTypeName(column) + " " + value);
                }
            }
        }
    }

    static void prepared(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT name FROM dbo.item WHERE id = ? OR name = ?")) {
            for (int id = 1; id <= 3; id++) {
                statement.setInt(1, id);
                statement.setString(2, "it's");
                try (ResultSet rows = statement.executeQuery()) {
                    System.out.println("prepared " + id + " " + (rows.next() ? rows.getString(1) : "none"));
                }
            }
        }
    }

    static void error(Connection connection) {
        try {
            query(connection, "SELECT * FROM dbo.nowhere");
        } catch (SQLException error) {
            System.out.println("error " + error.getErrorCode() + " " + error.getMessage());
        }
    }

    static void cancel(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    statement.cancel();
                } catch (Exception error) {
                    System.out.println("cancelling failed: " + error);
                }
            });
            canceller.start();
            try (ResultSet rows = statement.executeQuery(
                    "SELECT COUNT(*) FROM GENERATE_SERIES(1, 2000000000) AS a WHERE a.value < 0")) {
                System.out.println("not cancelled");
            } catch (SQLException error) {
                System.out.println("cancelled " + error.getMessage());
            }
            canceller.join();
        }
    }
}
