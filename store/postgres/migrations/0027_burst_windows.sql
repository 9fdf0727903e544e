-- PostgreSQL has had one row per account for the rate limit window from the start.

-- +goose Up

SELECT 1;
