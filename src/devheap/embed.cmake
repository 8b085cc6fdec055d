# cmake -DPTX=FILE -DTO=FILE.c -DHEADER=NAME -DARRAY=NAME -P embed.cmake: makes a C file with the text as an array, which the header
# declares.
file(READ "${PTX}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}") # a line for each line of the text
file(WRITE "${TO}" "#include \"${HEADER}\"\n\nconst char ${ARRAY}[] = {\n${bytes}0};\n")
