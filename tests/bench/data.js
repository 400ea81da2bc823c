// The records of the benchmark, computed from their number: keys of about 30
// bytes and JSON values of exactly 190 (or another size) bytes.
'use strict';

const VALUE_SIZE = 190;
const USERS_PER_COLOR = 100;
const PRIME = 7368787;

function pad(number) {
    return String(number).padStart(16, '0');
}

function itemId(number) {
    return `item-${pad(number)}`;
}

function userId(number) {
    return `user-${pad(number)}`;
}

// Neighbours in number are far apart in e-mail address and share no colour: an
// index entry says nothing about where its record lies.
function email(number) {
    const scattered = Math.imul(number, 2654435761) >>> 0;
    return `${scattered.toString(16).padStart(8, '0')}@example.org`;
}

function color(number, users) {
    const colors = Math.max(1, Math.floor(users / USERS_PER_COLOR));
    return `color-${number % colors}`;
}

function value(number, users, size = VALUE_SIZE) {
    const start = `{"name":"User ${number}","email":"${email(number)}",` +
        `"color":"${color(number, users)}","bio":"`;
    return `${start}${'x'.repeat(size - start.length - 2)}"}`;
}

// The number that comes at a place in an order without order.
function scattered(place, count) {
    return (place * PRIME) % count;
}

// Numbers below a bound, the same in every run.
function sequence(seed) {
    let state = seed >>> 0 || 1;
    return (bound) => {
        state ^= state << 13;
        state >>>= 0;
        state ^= state >>> 17;
        state ^= state << 5;
        state >>>= 0;
        return state % bound;
    };
}

module.exports = {
    VALUE_SIZE, USERS_PER_COLOR, itemId, userId, email, color, value, scattered, sequence,
};
