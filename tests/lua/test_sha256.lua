-- SHA-256 against the vectors of FIPS 180-4 and NIST's short-message set.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local sha256 = require("base.sha256")

TestSha256 = {}

function TestSha256.test_hex_known_vectors()
  local vectors = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    {
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    },
    { "\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b" },
    { ("a"):rep(1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3" },
  }
  for _, vector in ipairs(vectors) do
    lu.assertEquals(sha256.hash(vector[1]), vector[2])
  end
end

-- Texts whose lengths are near the boundary of padding have different hashes.
function TestSha256.test_hex_padding_boundary()
  local digests = {}
  for length = 54, 66 do
    local hex = sha256.hash(("x"):rep(length))
    lu.assertEquals(#hex, 64)
    lu.assertNil(digests[hex])
    digests[hex] = true
  end
end

function TestSha256.test_digest_is_first_sixteen_digits()
  lu.assertEquals(sha256.digest("abc"), "ba7816bf8f01cfea")
end

support.run()
