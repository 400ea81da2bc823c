-- The requests of large_redis.sh to webdis, as large.lua has them for Kindex:
-- wrk .. -- get|list|update ENTRIES, and LIST or UPDATE: the script's hash
local WARM = 300000

local function scattered(n)
    local low, high = n % 65536, math.floor(n / 65536)
    return string.format("%08x", (low * 2654435761 % 4294967296 + high * 2654435761 % 65536 * 65536) % 4294967296)
end

local function escaped(text)
    return (text:gsub("[^%w]", function(byte) return string.format("%%%02X", byte:byte()) end))
end

local make = {
    get = function(n, count)
        return wrk.format("GET", "/GET/user:" .. scattered(n % math.min(count, WARM)))
    end,
    list = function(n)
        return wrk.format("GET", string.format("/EVALSHA/%s/0/city%d", os.getenv("LIST"), n % 1000))
    end,
    update = function(n)
        local another = math.random(0, 999999)
        local value = string.format('{"email":"user%d@example.com","city":"city%d","n":%d,"note":"%s"}',
            another, another % 1000, n, string.rep("x", 110))
        return wrk.format("POST", "/", nil,
            string.format("EVALSHA/%s/0/%s/%s", os.getenv("UPDATE"), scattered(n), escaped(value)))
    end,
}

local chosen, entries

function init(words)
    chosen, entries = make[words[1]], tonumber(words[2])
    math.randomseed(7)
end

function request()
    return chosen(math.random(0, entries - 1), entries)
end
