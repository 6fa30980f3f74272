-- MurmurHash64A, compared with a second implementation in another language; and digests of texts that differ in one
-- place.

local support = dofile("tests/lua/support.lua")

local fingerprint = require("base.fingerprint")
local lu = require("luaunit")

TestFingerprint = {}

function TestFingerprint.test_texts_have_the_digests_of_a_second_implementation()
  for text, digest in pairs({ [""] = "0000000000000000", a = "071717d2d36b6b11", ["hello world"] = "d3ba2368a832afce",
    ["0123456789abcdef"] = "93a92d1a91a24bc7", ["\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7"] = "47670cb06e535e04",
    ["The quick brown fox jumps over the lazy dog"] = "5589ca33042a861b" }) do
    lu.assertEquals(fingerprint.digest(text), digest, text)
  end
end

-- Texts that differ in one character, in the order of two lines, or in zero bytes at the end have different digests.
function TestFingerprint.test_similar_texts_have_different_digests()
  local lines, digests = {}, {}
  for i = 1, 40 do
    lines[i] = ("int x%d = %d;"):format(i, i)
  end
  local function add_text(text)
    local digest = fingerprint.digest(text)
    lu.assertNil(digests[digest], text)
    digests[digest] = true
  end
  local text = table.concat(lines, "\n")
  add_text(text)
  for i = 1, #text do
    add_text(text:sub(1, i - 1) .. "~" .. text:sub(i + 1))
  end
  for i = 2, #lines do
    lines[i - 1], lines[i] = lines[i], lines[i - 1]
    add_text(table.concat(lines, "\n"))
    lines[i - 1], lines[i] = lines[i], lines[i - 1]
  end
  for zeros = 1, 17 do
    add_text(text .. ("\0"):rep(zeros))
  end
end

support.run()
