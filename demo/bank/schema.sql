-- The bank as it has stood for years: customers, accounts, notes of earlier contacts, transfers.
-- May run again at any time. Money is an integer of minor units; a balance never falls below zero.

create schema if not exists core;

create table if not exists core.customers (
    id         text primary key check (id ~ '^C-[0-9]{4,}$'),
    name       text not null,
    number     text not null unique,          -- the customer's number with the bank, as printed on letters
    check_flag text not null default 'clear' check (check_flag in ('clear', 'refuse', 'slow', 'unsteady'))
);

create table if not exists core.accounts (
    id          text primary key check (id ~ '^[0-9]{10}$'),
    customer_id text not null references core.customers,
    kind        text not null check (kind in ('savings', 'checking')),
    last4       text not null generated always as (right(id, 4)) stored,
    currency    text not null check (currency ~ '^[A-Z]{3}$'),
    balance     bigint not null check (balance >= 0)
);
create index if not exists accounts_customer on core.accounts (customer_id);

create table if not exists core.interactions (
    customer_id text not null references core.customers,
    at          timestamptz not null,
    summary     text not null,
    primary key (customer_id, at)
);

create sequence if not exists core.receipts start 100001;

create table if not exists core.transfers (
    reference    text primary key,            -- the idempotency key: one reference moves money once
    receipt      text not null unique,
    from_account text not null references core.accounts,
    to_account   text not null references core.accounts,
    amount       bigint not null check (amount > 0),
    currency     text not null,
    at           timestamptz not null default now(),
    from_balance bigint not null,             -- both balances right after, so that a repeat answers the same
    to_balance   bigint not null
);

-- What keeps the demo's accounts filled (see core.refill), apart from the transfers that people asked for.
create table if not exists core.postings (
    id         bigint generated always as identity primary key,
    account_id text not null references core.accounts,
    kind       text not null check (kind in ('salary', 'standing order')),
    amount     bigint not null,
    at         timestamptz not null default now()
);

-- Move money exactly once for each reference. The same reference with the same arguments answers as it did
-- the first time; with other arguments it is refused. A crash before commit leaves nothing, after it all.
-- Refusals: BK001 not enough money, BK002 reference used for something else, BK003 no such account,
-- BK004 not a transfer (same account twice, amount below one, other currency).
create or replace function core.transfer(
    p_reference text, p_from text, p_to text, p_amount bigint, p_currency text
) returns core.transfers language plpgsql as $$
declare
    known  core.transfers;
    source core.accounts;
    target core.accounts;
begin
    -- Two attempts of one reference wait for each other here; the second then finds what the first did.
    perform pg_advisory_xact_lock(hashtextextended('core.transfer ' || p_reference, 0));
    select * into known from core.transfers where reference = p_reference;
    if found then
        if (known.from_account, known.to_account, known.amount, known.currency)
           is distinct from (p_from, p_to, p_amount, p_currency) then
            raise exception 'reference % already moved another amount or between other accounts', p_reference
                using errcode = 'BK002';
        end if;
        return known;
    end if;

    if p_amount < 1 or p_from = p_to then
        raise exception 'a transfer needs two accounts and an amount' using errcode = 'BK004';
    end if;
    -- Rows are locked in the order of their ids, so that opposite transfers cannot wait for each other.
    perform 1 from core.accounts where id in (p_from, p_to) order by id for update;
    select * into source from core.accounts where id = p_from;
    select * into target from core.accounts where id = p_to;
    if source.id is null or target.id is null then
        raise exception 'no such account' using errcode = 'BK003';
    end if;
    if source.currency <> p_currency or target.currency <> p_currency then
        raise exception 'the accounts are not kept in %', p_currency using errcode = 'BK004';
    end if;
    if source.balance < p_amount then
        raise exception 'not enough money in the account' using errcode = 'BK001';
    end if;

    update core.accounts set balance = balance - p_amount where id = p_from;
    update core.accounts set balance = balance + p_amount where id = p_to;
    insert into core.transfers
        (reference, receipt, from_account, to_account, amount, currency, from_balance, to_balance)
    values
        (p_reference, 'TR-' || nextval('core.receipts'), p_from, p_to, p_amount, p_currency,
         source.balance - p_amount, target.balance + p_amount)
    returning * into known;
    return known;
end $$;

-- Money that never runs out, in days of demo. A standing order takes whatever a checking account holds above
-- 15,000.00 and leaves 4,000.00, the rest going to the same customer's savings; then each savings account
-- below 12,000.00 receives a salary of 15,000.00, each checking account below 600.00 one of 1,800.00.
-- Accounts somebody is moving money on are left for the next time. Returns how many postings were made.
create or replace function core.refill() returns integer language plpgsql as $$
declare
    made integer := 0;
    pair record;
    due  record;
begin
    for pair in
        select checking.id as checking, savings.id as savings, checking.balance - 400000 as surplus
          from core.accounts checking
          join core.accounts savings using (customer_id, currency)
         where checking.kind = 'checking' and savings.kind = 'savings' and checking.balance > 1500000
           for update skip locked
    loop
        update core.accounts set balance = balance - pair.surplus where id = pair.checking;
        update core.accounts set balance = balance + pair.surplus where id = pair.savings;
        insert into core.postings (account_id, kind, amount)
        values (pair.checking, 'standing order', -pair.surplus), (pair.savings, 'standing order', pair.surplus);
        made := made + 2;
    end loop;
    for due in
        select id, case kind when 'savings' then 1500000 else 180000 end as amount
          from core.accounts
         where (kind = 'savings' and balance < 1200000) or (kind = 'checking' and balance < 60000)
           for update skip locked
    loop
        update core.accounts set balance = balance + due.amount where id = due.id;
        insert into core.postings (account_id, kind, amount) values (due.id, 'salary', due.amount);
        made := made + 1;
    end loop;
    return made;
end $$;
