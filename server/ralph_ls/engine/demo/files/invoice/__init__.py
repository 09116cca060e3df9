"""Adds up invoices: lines, discount, tax and the letter to the customer."""
