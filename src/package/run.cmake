# run(COMMAND ARGUMENT...): ends the script where the command fails, with what it printed; OUTPUT is what it printed.
function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "${command}: ${status}\n${output}${errors}")
    endif()
    set(OUTPUT "${output}" PARENT_SCOPE)
endfunction()
