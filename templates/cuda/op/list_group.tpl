for (int ${index} = ${first}; ${index} < ${past}; ${index}++) { % if direction == "forward"
for (int ${index} = ${past} - 1; ${index} >= ${first}; ${index}--) { % else
    % include(launch.template, launch) % for _, launch in ipairs(list)
}
