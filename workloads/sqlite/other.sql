with recursive n(i) as (select 1 union all select i + 1 from n where i < 50)
select count(*), sum(i), group_concat(i) from n where i % 7 = 0;
create view v as select 1 as a union select 2;
select json_object('a', a) from v;
