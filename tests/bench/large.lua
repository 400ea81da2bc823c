-- The requests of large.sh and slow_disk.sh, which make the users:
-- wrk .. -- get|hot|list|update|many|warm ENTRIES; LARGE_SEED: of other entries.
-- An update changes the fields of both indexes.
local WARM = 300000

-- (n * 2654435761) mod 2^32, by halves, since a number here has 53 bits.
local function scattered(n)
    local low, high = n % 65536, math.floor(n / 65536)
    return (low * 2654435761 % 4294967296 + high * 2654435761 % 65536 * 65536) % 4294967296
end

local function get_many(number)
    local keys = {}
    for i = 1, 100 do
        keys[i] = string.format('["users","%08x"]', scattered(number()))
    end
    return wrk.format("POST", "/get", { ["Content-Type"] = "application/json" },
        '{"keys":[' .. table.concat(keys, ",") .. "]}")
end

local warmed = 0
local make = {
    get = function(n, count)
        return wrk.format("GET", string.format("/kv/users/%08x", scattered(n % math.min(count, WARM))))
    end,
    hot = function() -- one entry, which is in the record cache
        return wrk.format("GET", string.format("/kv/users/%08x", scattered(0)))
    end,
    list = function(n)
        return wrk.format("GET", "/list?index=by_city&limit=100&prefix=city" .. n % 1000)
    end,
    many = function(_, count)
        return get_many(function() return math.random(0, count - 1) end)
    end,
    warm = function(_, count) -- all that `get` asks for, in turn
        return get_many(function()
            warmed = (warmed + 1) % math.min(count, WARM)
            return warmed
        end)
    end,
    update = function(n)
        local another = math.random(0, 999999)
        local value = string.format('{"email":"user%d@example.com","city":"city%d","n":%d,"note":"%s"}',
            another, another % 1000, n, string.rep("x", 110))
        return wrk.format("PUT", string.format("/kv/users/%08x", scattered(n)),
            { ["Content-Type"] = "application/json" }, value)
    end,
}

local chosen, entries

function init(words)
    chosen, entries = make[words[1]], tonumber(words[2])
    math.randomseed(7 + tonumber(os.getenv("LARGE_SEED") or 0))
end

function request()
    return chosen(math.random(0, entries - 1), entries)
end
