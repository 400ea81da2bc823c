-- Inserts one entry after another under a prefix, with a color out of eight.
--   wrk -s answers.lua URL -- PREFIX FIRST
local prefix, n

function init(arguments)
    prefix, n = arguments[1], tonumber(arguments[2])
    wrk.method = "PUT"
    wrk.headers["Content-Type"] = "application/json"
end

function request()
    n = n + 1
    local body = string.format(
        '{"name":"user %d","color":"c%d","date":%d,"text":"%s"}',
        n, n % 8, n, string.rep("x", 100))
    return wrk.format(nil, string.format("/kv/%s/%012d", prefix, n), nil, body)
end
