create table star (name text, magnitude real);
insert into star values ('Sirius', -1.46), ('Canopus', -0.74), ('Vega', 0.03);
select name from star where magnitude < 0 order by magnitude;
