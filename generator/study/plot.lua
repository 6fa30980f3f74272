-- Accuracy against length, as a gnuplot script that draws an SVG and a PNG.
--
-- Input: runs { title, accuracy = { lengths, by_length } }, the accuracies of chance and of the majority baseline, and
-- the longest training length. Output: text; nothing is run here.

local M = {}

local COLOURS = { "#0072B2", "#D55E00", "#009E73", "#CC79A7" } -- Okabe and Ito: told apart by everybody
local POINTS = { 7, 5, 9, 13 }

local SETTINGS = [[
set encoding utf8
set border 3 lw 1 lc rgb "#444444"
set tics nomirror out scale 0.6 textcolor rgb "#222222"
set grid y lt 1 lw 0.6 lc rgb "#e4e4e4"
set xlabel "tokens to sort" offset 0,0.3
set ylabel "token accuracy" offset -0.8,0
set yrange [0:100]
set format y "%.0f%%"
set ytics 20
set key outside above left horizontal Left reverse samplen 2.2 width 2
set lmargin 9
set rmargin 17
]]

-- One data block per run: length, accuracy in percent.
local function data(runs)
  local lines = {}
  for i, run in ipairs(runs) do
    lines[#lines + 1] = ("$run%d << EOD"):format(i)
    for _, length in ipairs(run.accuracy.lengths) do
      lines[#lines + 1] = ("%d %.6f"):format(length, 100 * run.accuracy.by_length[length])
    end
    lines[#lines + 1] = "EOD"
  end
  return table.concat(lines, "\n")
end

function M.csv(runs)
  local lines = { "run,length,accuracy" }
  for _, run in ipairs(runs) do
    for _, length in ipairs(run.accuracy.lengths) do
      lines[#lines + 1] = ("%s,%d,%.6f"):format(run.id, length, run.accuracy.by_length[length])
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The training lengths shaded, their end dashed, and names on the two flat lines.
local function marks(runs, chance, baseline, trained_to)
  local lengths = runs[1].accuracy.lengths
  local last = lengths[#lengths]
  local lines = {
    ("set xrange [0:%g]"):format(last * 1.02),
    ("set object 1 rectangle from 0,0 to %d,100 fc rgb '#f3f3ee' fs solid noborder behind"):format(trained_to),
    ("set arrow 1 from %d,0 to %d,100 nohead dt (8,5) lw 1.4 lc rgb '#555555'"):format(trained_to, trained_to),
    ("set label 1 'in training' at %g,4 center tc rgb '#555555'"):format(trained_to / 2),
    ("set label 2 'longer than in training' at %g,4 left tc rgb '#555555'"):format(trained_to + last * 0.015),
    ("set label 3 'chance %.0f%%' at graph 1.01, first %g left tc rgb '#666666'"):format(100 * chance,
      100 * chance - 1.5),
    ("set label 4 'majority %.1f%%' at graph 1.01, first %g left tc rgb '#666666'"):format(100 * baseline,
      100 * baseline + 1.5),
  }
  return table.concat(lines, "\n")
end

local function curves(runs, chance, baseline)
  local parts = {
    ("%g notitle with lines dt (2,3) lw 1.2 lc rgb '#888888'"):format(100 * chance),
    ("%g notitle with lines dt (8,3) lw 1.2 lc rgb '#888888'"):format(100 * baseline),
  }
  for i, run in ipairs(runs) do
    parts[#parts + 1] = ("$run%d using 1:2 title '%s' with linespoints lw 2.4 pt %d ps 0.9 lc rgb '%s'"):format(i,
      run.title, POINTS[i], COLOURS[i])
  end
  return "plot " .. table.concat(parts, ", \\\n     ")
end

function M.script(runs, chance, baseline, trained_to)
  local picture = SETTINGS .. marks(runs, chance, baseline, trained_to) .. "\n" .. curves(runs, chance, baseline)
  return table.concat({
    data(runs),
    "set terminal svg size 800,480 dynamic font 'Helvetica,15' background rgb 'white'",
    "set output 'accuracy.svg'",
    picture,
    "set terminal pngcairo size 1600,960 font 'Sans,24' linewidth 2 pointscale 1.6",
    "set output 'accuracy.png'",
    "replot",
    "unset output",
    "",
  }, "\n")
end

return M
