"""Beyond one machine: the connection to Ray, and tables that are spread over its workers."""
